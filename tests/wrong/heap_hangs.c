#define WRONG      HANGS
#define WRONG_NAME "heap-hangs"
#define WRONG_HOW  "walks through a jump tick by tick"
#define WRONG_CASE "advance-jump"
#include "heap.h"
