#define WRONG      CASCADES_COUNT_TWICE
#define WRONG_NAME "told-counters-cascades"
#define WRONG_HOW  "counts more cascades than moves"
#define WRONG_CASE "counters"
#include "told.h"
