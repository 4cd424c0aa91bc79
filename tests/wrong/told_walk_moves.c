#define WRONG      WALK_MOVES
#define WRONG_NAME "told-walk-moves"
#define WRONG_HOW  "moves timers when it shows itself"
#define WRONG_CASE "undisturbed"
#include "told.h"
