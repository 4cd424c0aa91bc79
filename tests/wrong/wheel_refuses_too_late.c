#define WRONG      REFUSES_TOO_LATE
#define WRONG_NAME "wheel-refuses-too-late"
#define WRONG_HOW  "takes a pending timer out before it refuses the new deadline"
#define WRONG_CASE "refused"
#include "wheel.h"
