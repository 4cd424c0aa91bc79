#define WRONG      TICK_SCANS
#define WRONG_NAME "told-tick-scans"
#define WRONG_HOW  "looks at all timers in each tick, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
