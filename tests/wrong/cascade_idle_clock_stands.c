#define WRONG      IDLE_CLOCK_STANDS
#define WRONG_NAME "cascade-idle-clock-stands"
#define WRONG_HOW  "while nothing is pending the clock stands still"
#define WRONG_CASE "horizon"
#include "cascade.h"
