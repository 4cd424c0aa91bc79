#define WRONG      LATER_THAN_DECLARED
#define WRONG_NAME "coarse-later-than-declared"
#define WRONG_HOW  "declares an eighth of the delay and is later"
#define WRONG_CASE "precision"
#include "cascade.h"
