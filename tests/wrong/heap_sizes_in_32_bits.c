#define WRONG      SIZES_IN_32_BITS
#define WRONG_NAME "heap-sizes-in-32-bits"
#define WRONG_HOW  "takes a size that 32 bits do not hold for a small one"
#define WRONG_CASE "memory-sizes"
#include "heap.h"
