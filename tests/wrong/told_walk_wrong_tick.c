#define WRONG      WALK_WRONG_TICK
#define WRONG_NAME "told-walk-wrong-tick"
#define WRONG_HOW  "shows timers with other ticks than theirs"
#define WRONG_CASE "invariants"
#include "told.h"
