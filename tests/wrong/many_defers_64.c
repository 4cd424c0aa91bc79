#define WRONG      DEFERS_64
#define WRONG_NAME "many-defers-64"
#define WRONG_HOW  "the 65th timer that callbacks of one advance start for now fires in it"
#define WRONG_CASE "callback-crowd"
#include "many.h"
