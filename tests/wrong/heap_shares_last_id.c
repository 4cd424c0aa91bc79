#define WRONG      SHARES_LAST_ID
#define WRONG_NAME "heap-shares-last-id"
#define WRONG_HOW  "all structures remember one timer and its index as the last one looked up"
#define WRONG_CASE "two-threads"
#include "heap.h"
