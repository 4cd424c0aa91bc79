#define WRONG      SHARES_SLOTS
#define WRONG_NAME "many-shares-slots"
#define WRONG_HOW  "all structures have as many slots as the last that was made"
#define WRONG_CASE "several-instances"
#include "many.h"
