#define WRONG      FORGETS_LEFT_OVER
#define WRONG_NAME "heap-forgets-left-over"
#define WRONG_HOW  "forgets what a budget left over when it is started again for now"
#define WRONG_CASE "budget-left-over"
#include "heap.h"
