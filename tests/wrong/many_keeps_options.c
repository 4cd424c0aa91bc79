#define WRONG      KEEPS_OPTIONS
#define WRONG_NAME "many-keeps-options"
#define WRONG_HOW  "reads the options that create was given, later"
#define WRONG_CASE "empty"
#include "many.h"
