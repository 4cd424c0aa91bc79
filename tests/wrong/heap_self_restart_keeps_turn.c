#define WRONG      RESTART_OF_SELF_KEEPS_TURN
#define WRONG_NAME "heap-self-restart-keeps-turn"
#define WRONG_HOW  "gives a timer that its own callback starts again the turn that it had before"
#define WRONG_CASE "callback-again"
#include "heap.h"
