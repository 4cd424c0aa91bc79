#define WRONG      COUNTS_ALL_IN_16_BITS
#define WRONG_NAME "many-counts-all-in-16-bits"
#define WRONG_HOW  "pending timers are counted in 16 bits, and 65,536 are none"
#define WRONG_CASE "many-exactly"
#include "many.h"
