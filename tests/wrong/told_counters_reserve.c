#define WRONG      COUNTERS_FORGOTTEN_BY_RESERVE
#define WRONG_NAME "told-counters-reserve"
#define WRONG_HOW  "counts from nothing again once it has grown"
#define WRONG_CASE "counters"
#include "told.h"
