#define WRONG      CLOCK_MOVES_AFTER_CALLBACKS
#define WRONG_NAME "wheel-clock-after-callbacks"
#define WRONG_HOW  "callbacks start timers against the clock of the advance before"
#define WRONG_CASE "callback-restart-self"
#include "wheel.h"
