#define WRONG      WRITES_PAST_ITS_MEMORY
#define WRONG_NAME "heap-writes-past-memory"
#define WRONG_HOW  "writes one entry behind its array"
#define WRONG_CASE "memory-guard"
#include "heap.h"
