#define WRONG      FIRES_WHAT_CALLBACKS_STOP
#define WRONG_NAME "heap-fires-stopped"
#define WRONG_HOW  "collects what is due and then fires it, stopped meanwhile or not"
#define WRONG_CASE "callback-stop-other"
#include "heap.h"
