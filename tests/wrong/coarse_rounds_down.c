#define WRONG      ROUNDS_DOWN
#define WRONG_NAME "coarse-rounds-down"
#define WRONG_HOW  "declares to be late and rounds down: early"
#define WRONG_CASE "precision"
#include "cascade.h"
