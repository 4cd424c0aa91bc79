#define WRONG      SHARES_LAST_FOUND
#define WRONG_NAME "heap-shares-last-found"
#define WRONG_HOW  "all structures remember the last timer looked up in one place, and whose it is"
#define WRONG_CASE "two-threads"
#include "heap.h"
