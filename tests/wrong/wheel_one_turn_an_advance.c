#define WRONG      ONE_TURN_AN_ADVANCE
#define WRONG_NAME "wheel-one-turn-an-advance"
#define WRONG_HOW  "goes at most one turn in one advance, and is behind afterwards"
#define WRONG_CASE "advance-jump"
#include "wheel.h"
