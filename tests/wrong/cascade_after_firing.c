#define WRONG      CASCADES_AFTER_FIRING
#define WRONG_NAME "cascade-after-firing"
#define WRONG_HOW  "cascades after the tick's slot has fired instead of before"
#define WRONG_CASE "boundaries"
#include "cascade.h"
