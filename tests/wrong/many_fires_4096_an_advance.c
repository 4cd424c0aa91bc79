#define WRONG      FIRES_4096_AN_ADVANCE
#define WRONG_NAME "many-fires-4096-an-advance"
#define WRONG_HOW  "no more than 4,096 fire in one advance"
#define WRONG_CASE "many-one-tick"
#include "many.h"
