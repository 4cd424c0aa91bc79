#define WRONG      ROUNDS_ONCE_A_JUMP
#define WRONG_NAME "wheel-rounds-once-a-jump"
#define WRONG_HOW  "counts rounds down once for a jump of many turns"
#define WRONG_CASE "advance-jump"
#include "wheel.h"
