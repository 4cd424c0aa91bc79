#define WRONG      WALK_OMITS_EMPTY
#define WRONG_NAME "told-walk-omits-empty"
#define WRONG_HOW  "does not show some empty slots"
#define WRONG_CASE "invariants"
#include "told.h"
