#define WRONG      FIRES_WHAT_CALLBACKS_MOVE
#define WRONG_NAME "heap-fires-moved"
#define WRONG_HOW  "notes what is due, and fires what of it is pending, moved by a callback or not"
#define WRONG_CASE "callback-same-tick"
#include "heap.h"
