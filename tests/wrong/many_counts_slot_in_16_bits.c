#define WRONG      COUNTS_SLOT_IN_16_BITS
#define WRONG_NAME "many-counts-slot-in-16-bits"
#define WRONG_HOW  "slots count their timers in 16 bits, and 65,536 are none"
#define WRONG_CASE "many-exactly"
#include "many.h"
