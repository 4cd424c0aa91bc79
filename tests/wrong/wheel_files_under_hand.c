#define WRONG      FILES_UNDER_THE_HAND
#define WRONG_NAME "wheel-files-under-hand"
#define WRONG_HOW  "files what a callback starts for one turn ahead in the slot that is being fired"
#define WRONG_CASE "callback-restart-self"
#include "wheel.h"
