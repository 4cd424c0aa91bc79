#define WRONG      LEAKS
#define WRONG_NAME "heap-leaks"
#define WRONG_HOW  "destroy with timers pending forgets to free them"
#define WRONG_CASE "destroy-pending"
#include "heap.h"
