#define WRONG      COARSE
#define WRONG_NAME "right-coarse"
#define WRONG_HOW  "nothing is wrong with this coarse wheel, which is late as declared"
#define WRONG_CASE "-"
#include "cascade.h"
