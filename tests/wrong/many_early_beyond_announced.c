#define WRONG      EARLY_BEYOND_ANNOUNCED
#define WRONG_NAME "many-early-beyond-announced"
#define WRONG_HOW  "a delay beyond the longest that was announced is one tick early"
#define WRONG_CASE "announced"
#include "many.h"
