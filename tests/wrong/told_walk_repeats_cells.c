#define WRONG      WALK_REPEATS_CELLS
#define WRONG_NAME "told-walk-repeats-cells"
#define WRONG_HOW  "shows two slots under one index"
#define WRONG_CASE "invariants"
#include "told.h"
