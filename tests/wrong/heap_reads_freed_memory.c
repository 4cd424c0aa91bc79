#define WRONG      READS_WHAT_IT_FREED
#define WRONG_NAME "heap-reads-freed-memory"
#define WRONG_HOW  "looks once more at the array that reserve has replaced"
#define WRONG_CASE "memory-pages"
#include "heap.h"
