#define WRONG      LATE_AT_ANNOUNCED
#define WRONG_NAME "many-late-at-announced"
#define WRONG_HOW  "a delay of just the longest that was announced is one tick late"
#define WRONG_CASE "announced"
#include "many.h"
