#define WRONG      WRITES_FAR_PAST
#define WRONG_NAME "heap-writes-far-past-memory"
#define WRONG_HOW  "writes so far behind its array that no canary sees it"
#define WRONG_CASE "memory-pages"
#include "heap.h"
