#define WRONG      PLACE_MOVES
#define WRONG_NAME "told-place-moves"
#define WRONG_HOW  "moves timers when asked where one is"
#define WRONG_CASE "undisturbed"
#include "told.h"
