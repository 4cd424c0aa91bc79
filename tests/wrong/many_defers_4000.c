#define WRONG      DEFERS_4000
#define WRONG_NAME "many-defers-4000"
#define WRONG_HOW  "so does the 4,001st"
#define WRONG_CASE "callback-crowd"
#include "many.h"
