#define WRONG      SHARES_SLOTS_WHEN_LARGER
#define WRONG_NAME "many-shares-slots-when-larger"
#define WRONG_HOW  "all structures have as many slots as the one with most"
#define WRONG_CASE "several-instances"
#include "many.h"
