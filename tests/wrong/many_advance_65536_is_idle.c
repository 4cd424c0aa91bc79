#define WRONG      ADVANCE_65536_IS_IDLE
#define WRONG_NAME "many-advance-65536-is-idle"
#define WRONG_HOW  "every 65,536th advance fires nothing"
#define WRONG_CASE "long-life"
#include "many.h"
