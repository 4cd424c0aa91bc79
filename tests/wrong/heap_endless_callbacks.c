#define WRONG      FIRES_WHAT_CALLBACKS_START
#define WRONG_NAME "heap-endless-callbacks"
#define WRONG_HOW  "fires what a callback starts for now in the same advance, without end"
#define WRONG_CASE "callback-restart-now"
#include "heap.h"
