#define WRONG      STOP_65536_IS_FORGOTTEN
#define WRONG_NAME "many-stop-65536-is-forgotten"
#define WRONG_HOW  "every 65,536th stop is forgotten"
#define WRONG_CASE "long-life"
#include "many.h"
