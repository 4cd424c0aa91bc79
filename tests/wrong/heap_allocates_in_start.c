#define WRONG      ALLOCATES_IN_START
#define WRONG_NAME "heap-allocates-in-start"
#define WRONG_HOW  "allocates in start without saying so"
#define WRONG_CASE "no-allocation"
#include "heap.h"
