#define WRONG      COUNTERS_COUNT_READING
#define WRONG_NAME "told-counters-reading"
#define WRONG_HOW  "counts that its counters are read"
#define WRONG_CASE "counters"
#include "told.h"
