#define WRONG      NOW_ONE_TURN_LATE
#define WRONG_NAME "wheel-now-one-turn-late"
#define WRONG_HOW  "what is due now waits in the current slot for a whole turn"
#define WRONG_CASE "deadline-now"
#include "wheel.h"
