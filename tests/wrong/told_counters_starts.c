#define WRONG      STARTS_NOT_COUNTED
#define WRONG_NAME "told-counters-starts"
#define WRONG_HOW  "counts no moves for timers that it files"
#define WRONG_CASE "counters"
#include "told.h"
