#define WRONG      STOP_SAYS_OK
#define WRONG_NAME "heap-stop-says-ok"
#define WRONG_HOW  "says that it stopped a timer that was not pending"
#define WRONG_CASE "stop-idle"
#include "heap.h"
