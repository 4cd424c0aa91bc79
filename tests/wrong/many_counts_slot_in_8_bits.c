#define WRONG      COUNTS_SLOT_IN_8_BITS
#define WRONG_NAME "many-counts-slot-in-8-bits"
#define WRONG_HOW  "slots count their timers in 8 bits, and 256 are none"
#define WRONG_CASE "many-exactly"
#include "many.h"
