#define WRONG      PLACE_LEVELS_FROM_ZERO
#define WRONG_NAME "told-place-level"
#define WRONG_HOW  "numbers its levels from 0"
#define WRONG_CASE "invariants"
#include "told.h"
