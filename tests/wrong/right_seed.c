#define WRONG      NOTHING
#define WRONG_NAME "right-seed"
#define WRONG_HOW  "nothing is wrong with this wheel in a table"
#define WRONG_CASE "-"
#include "seed.h"
