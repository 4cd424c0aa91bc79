#define WRONG      RESERVE_COPIES_65536
#define WRONG_NAME "many-reserve-copies-65536"
#define WRONG_HOW  "reserve forgets timers from the 65,536th on"
#define WRONG_CASE "many-reserved"
#include "many.h"
