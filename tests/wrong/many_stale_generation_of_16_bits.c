#define WRONG      STALE_GENERATION_OF_16_BITS
#define WRONG_NAME "many-stale-generation-of-16-bits"
#define WRONG_HOW  "what a stop left behind acts for the start 65,536 later"
#define WRONG_CASE "number-again"
#include "many.h"
