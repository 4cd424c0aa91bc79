#define WRONG      IGNORES_BUDGET
#define WRONG_NAME "heap-ignores-budget"
#define WRONG_HOW  "fires everything, whatever the budget"
#define WRONG_CASE "budget"
#include "heap.h"
