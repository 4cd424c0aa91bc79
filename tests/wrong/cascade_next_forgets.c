#define WRONG      NEXT_FORGETS_CASCADES
#define WRONG_NAME "cascade-next-forgets"
#define WRONG_HOW  "next looks at the lowest wheel and past the next cascade"
#define WRONG_CASE "next"
#include "cascade.h"
