#define WRONG      DROPS_TIMERS_OF_A_JUMP
#define WRONG_NAME "wheel-drops-timers-of-a-jump"
#define WRONG_HOW  "a jump of more than a turn moves the clock and visits nothing"
#define WRONG_CASE "long-idle"
#include "wheel.h"
