#define WRONG      NOTHING
#define WRONG_NAME "right-wheel"
#define WRONG_HOW  "nothing is wrong with this hashed wheel"
#define WRONG_CASE "-"
#include "wheel.h"
