#define WRONG      COUNTERS_COUNT_CHECKS
#define WRONG_NAME "told-counters-checks"
#define WRONG_HOW  "counts what its check looks at"
#define WRONG_CASE "undisturbed"
#include "told.h"
