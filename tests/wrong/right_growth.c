#define WRONG      START_GROWS_AS_BORNE
#define WRONG_NAME "right-growth"
#define WRONG_HOW  "nothing is wrong: a start grows by as much as is borne"
#define WRONG_CASE "-"
#include "told.h"
