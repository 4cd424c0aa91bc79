#define WRONG      NOTHING
#define WRONG_NAME "right-cascade"
#define WRONG_HOW  "nothing is wrong with this hierarchical wheel"
#define WRONG_CASE "-"
#include "cascade.h"
