#define WRONG      JUMP_SKIPS_CASCADES
#define WRONG_NAME "cascade-jump-skips"
#define WRONG_HOW  "a long jump empties the lowest wheel and forgets the others"
#define WRONG_CASE "advance-jump"
#include "cascade.h"
