#define WRONG      WALK_PARENTS
#define WRONG_NAME "told-walk-parents"
#define WRONG_HOW  "shows slots that hang from another"
#define WRONG_CASE "invariants"
#include "told.h"
