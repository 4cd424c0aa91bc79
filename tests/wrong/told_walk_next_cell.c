#define WRONG      WALK_IN_NEXT_CELL
#define WRONG_NAME "told-walk-next-cell"
#define WRONG_HOW  "shows its slots as standing for the ticks of the next"
#define WRONG_CASE "invariants"
#include "told.h"
