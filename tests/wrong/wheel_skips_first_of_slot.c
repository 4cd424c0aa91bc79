#define WRONG      SKIPS_FIRST_OF_SLOT
#define WRONG_NAME "wheel-skips-first-of-slot"
#define WRONG_HOW  "passes over the first of several timers in a slot"
#define WRONG_CASE "stop-pending"
#include "wheel.h"
