#define WRONG      DROPS_BUDGET_REMAINDER
#define WRONG_NAME "heap-drops-budget-remainder"
#define WRONG_HOW  "throws away what the budget left over"
#define WRONG_CASE "budget"
#include "heap.h"
