#define WRONG      COUNTERS_SHARED
#define WRONG_NAME "told-counters-shared"
#define WRONG_HOW  "counts the work of all its instances together"
#define WRONG_CASE "counters"
#include "told.h"
