#define WRONG      KEEPS_CONFIG
#define WRONG_NAME "many-keeps-config"
#define WRONG_HOW  "reads what create was given, later"
#define WRONG_CASE "empty"
#include "many.h"
