#define WRONG      LEAKS_GROWN
#define WRONG_NAME "many-leaks-grown"
#define WRONG_HOW  "what was grown past 65,536 timers leaks while timers are pending"
#define WRONG_CASE "many-reserved"
#include "many.h"
