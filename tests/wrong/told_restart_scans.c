#define WRONG      RESTART_SCANS
#define WRONG_NAME "told-restart-scans"
#define WRONG_HOW  "looks at all timers in each restart, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
