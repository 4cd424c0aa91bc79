#define WRONG      FORGETS_RESTART_OF_SELF
#define WRONG_NAME "heap-forgets-self-restart"
#define WRONG_HOW  "takes a timer out once more when its callback is done, though that started it"
#define WRONG_CASE "callback-restart-self"
#include "heap.h"
