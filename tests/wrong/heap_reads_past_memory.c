#define WRONG      READS_PAST_ITS_MEMORY
#define WRONG_NAME "heap-reads-past-memory"
#define WRONG_HOW  "looks at the place behind the last one"
#define WRONG_CASE "memory-pages"
#include "heap.h"
