#define WRONG      NOTHING
#define WRONG_NAME "right-told"
#define WRONG_HOW  "nothing is wrong with what these wheels tell of themselves"
#define WRONG_CASE "-"
#include "told.h"
