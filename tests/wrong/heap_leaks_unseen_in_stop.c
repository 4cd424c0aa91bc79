#define WRONG      LEAKS_UNSEEN_IN_STOP
#define WRONG_NAME "heap-leaks-unseen-in-stop"
#define WRONG_HOW  "leaks memory of malloc's in every stop"
#define WRONG_CASE "memory-in-sight"
#include "heap.h"
