#define WRONG      LEAKS_ON_FAILURE
#define WRONG_NAME "heap-leaks-on-failure"
#define WRONG_HOW  "when memory runs out on the way, forgets what it already had"
#define WRONG_CASE "allocation-failure"
#include "heap.h"
