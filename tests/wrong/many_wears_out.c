#define WRONG      WEARS_OUT
#define WRONG_NAME "many-wears-out"
#define WRONG_HOW  "a stop now and then does not give back what the start took"
#define WRONG_CASE "long-life"
#include "many.h"
