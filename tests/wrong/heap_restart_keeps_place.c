#define WRONG      RESTART_KEEPS_PLACE
#define WRONG_NAME "heap-restart-keeps-place"
#define WRONG_HOW  "a restart writes the new deadline and leaves the timer in its old place"
#define WRONG_CASE "restart-earlier"
#include "heap.h"
