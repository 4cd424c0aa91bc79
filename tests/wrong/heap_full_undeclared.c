#define WRONG      FULL_UNDECLARED
#define WRONG_NAME "heap-full-undeclared"
#define WRONG_HOW  "refuses a sixth timer, and does not say that it may"
#define WRONG_CASE "budget"
#include "heap.h"
