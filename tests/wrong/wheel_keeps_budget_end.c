#define WRONG      KEEPS_WHERE_BUDGET_ENDED
#define WRONG_NAME "wheel-keeps-budget-end"
#define WRONG_HOW  "notes where a budget ended before the last callback, which may stop that timer"
#define WRONG_CASE "budget-callback"
#include "wheel.h"
