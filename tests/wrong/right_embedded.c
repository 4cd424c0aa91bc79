#define WRONG      NOTHING
#define WRONG_NAME "right-embedded"
#define WRONG_HOW  "nothing is wrong with this list"
#define WRONG_CASE "-"
#include "embedded.h"
