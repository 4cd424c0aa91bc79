#define WRONG      HIDES_MEMORY
#define WRONG_NAME "heap-hides-memory"
#define WRONG_HOW  "takes memory from malloc, past the allocator"
#define WRONG_CASE "memory-in-sight"
#include "heap.h"
