#define WRONG      FALLS_SHORT_OF_BUDGET
#define WRONG_NAME "heap-falls-short-of-budget"
#define WRONG_HOW  "fires one less than the budget allows, though more are due"
#define WRONG_CASE "budget"
#include "heap.h"
