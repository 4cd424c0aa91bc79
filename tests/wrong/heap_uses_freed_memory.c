#define WRONG      USES_FREED_MEMORY
#define WRONG_NAME "heap-uses-freed-memory"
#define WRONG_HOW  "writes to the old array after it has grown"
#define WRONG_CASE "reserve-grows"
#include "heap.h"
