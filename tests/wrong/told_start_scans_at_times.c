#define WRONG      START_SCANS_AT_TIMES
#define WRONG_NAME "told-start-scans-at-times"
#define WRONG_HOW  "looks at all timers in some starts, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
