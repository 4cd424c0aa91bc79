#define WRONG      PLACE_SLOT_OFF_BY_ONE
#define WRONG_NAME "told-place-off-by-one"
#define WRONG_HOW  "names the slot behind the one that a timer is in"
#define WRONG_CASE "invariants"
#include "told.h"
