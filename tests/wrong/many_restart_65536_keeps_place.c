#define WRONG      RESTART_65536_KEEPS_PLACE
#define WRONG_NAME "many-restart-65536-keeps-place"
#define WRONG_HOW  "every 65,536th restart is forgotten"
#define WRONG_CASE "long-life"
#include "many.h"
