#define WRONG      START_SCANS
#define WRONG_NAME "told-start-scans"
#define WRONG_HOW  "looks at all timers in each start, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
