#define WRONG      TIES_UNBROKEN
#define WRONG_NAME "heap-ties-unbroken"
#define WRONG_HOW  "promises first in, first out, and lets the heap decide between equals"
#define WRONG_CASE "fifo"
#include "heap.h"
