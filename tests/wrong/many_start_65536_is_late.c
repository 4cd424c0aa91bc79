#define WRONG      START_65536_IS_LATE
#define WRONG_NAME "many-start-65536-is-late"
#define WRONG_HOW  "every 65,536th start is one tick late"
#define WRONG_CASE "long-life"
#include "many.h"
