#define WRONG      WALK_TWO_HANDS
#define WRONG_NAME "told-walk-two-hands"
#define WRONG_HOW  "shows a wheel with two hands"
#define WRONG_CASE "invariants"
#include "told.h"
