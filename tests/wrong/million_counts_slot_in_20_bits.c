#define WRONG      COUNTS_SLOT_IN_20_BITS
#define WRONG_NAME "million-counts-slot-in-20-bits"
#define WRONG_HOW  "slots count their timers in 20 bits, and 2^20 are none"
#define WRONG_CASE "many-exactly"
#include "many.h"
