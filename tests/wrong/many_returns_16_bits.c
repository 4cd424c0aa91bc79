#define WRONG      RETURNS_16_BITS
#define WRONG_NAME "many-returns-16-bits"
#define WRONG_HOW  "advance says in 16 bits how many fired"
#define WRONG_CASE "many-one-tick"
#include "many.h"
