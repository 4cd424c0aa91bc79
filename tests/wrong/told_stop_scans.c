#define WRONG      STOP_SCANS
#define WRONG_NAME "told-stop-scans"
#define WRONG_HOW  "looks at all timers in each stop, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
