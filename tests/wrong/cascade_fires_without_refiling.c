#define WRONG      FIRES_WITHOUT_REFILING
#define WRONG_NAME "cascade-fires-without-refiling"
#define WRONG_HOW  "fires an upper slot as a whole when it comes: early"
#define WRONG_CASE "precision"
#include "cascade.h"
