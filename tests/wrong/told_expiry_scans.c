#define WRONG      EXPIRY_SCANS
#define WRONG_NAME "told-expiry-scans"
#define WRONG_HOW  "looks at all timers for each that fires, and says O(m)"
#define WRONG_CASE "cost"
#include "told.h"
