#define WRONG      EDGE_ONE_TURN_LATE
#define WRONG_NAME "wheel-edge-one-turn-late"
#define WRONG_HOW  "a delay of a whole number of turns fires one turn late"
#define WRONG_CASE "boundaries"
#include "wheel.h"
