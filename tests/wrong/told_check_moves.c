#define WRONG      CHECK_MOVES
#define WRONG_NAME "told-check-moves"
#define WRONG_HOW  "moves timers when it checks itself"
#define WRONG_CASE "undisturbed"
#include "told.h"
