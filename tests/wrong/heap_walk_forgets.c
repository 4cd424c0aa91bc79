#define WRONG      WALK_FORGETS
#define WRONG_NAME "heap-walk-forgets"
#define WRONG_HOW  "does not show one of its timers"
#define WRONG_CASE "invariants"
#include "heap.h"
