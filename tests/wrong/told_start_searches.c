#define WRONG      SEARCHES_IN_ORDER
#define WRONG_NAME "told-start-searches"
#define WRONG_HOW  "looks for a place among later timers in each start, and says O(1)"
#define WRONG_CASE "cost"
#include "told.h"
