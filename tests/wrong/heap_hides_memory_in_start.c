#define WRONG      HIDES_MEMORY_IN_START
#define WRONG_NAME "heap-hides-memory-in-start"
#define WRONG_HOW  "takes memory from malloc when many timers are pending"
#define WRONG_CASE "memory-in-sight"
#include "heap.h"
