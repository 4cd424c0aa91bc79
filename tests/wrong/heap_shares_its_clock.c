#define WRONG      SHARES_ITS_CLOCK
#define WRONG_NAME "heap-shares-its-clock"
#define WRONG_HOW  "all structures share one clock"
#define WRONG_CASE "two-instances"
#include "heap.h"
