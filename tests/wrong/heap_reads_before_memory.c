#define WRONG      READS_BEFORE_ITS_MEMORY
#define WRONG_NAME "heap-reads-before-memory"
#define WRONG_HOW  "looks at the place before the first one"
#define WRONG_CASE "memory-pages"
#include "heap.h"
