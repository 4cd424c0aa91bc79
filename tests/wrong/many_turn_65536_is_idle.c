#define WRONG      TURN_65536_IS_IDLE
#define WRONG_NAME "many-turn-65536-is-idle"
#define WRONG_HOW  "the 65,536th turn of the wheel fires nothing"
#define WRONG_CASE "long-life"
#include "many.h"
