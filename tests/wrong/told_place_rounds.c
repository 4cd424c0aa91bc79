#define WRONG      PLACE_COUNTS_ROUNDS
#define WRONG_NAME "told-place-rounds"
#define WRONG_HOW  "names rounds where there are none"
#define WRONG_CASE "invariants"
#include "told.h"
