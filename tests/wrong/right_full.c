#define WRONG      FULL_RIGHTLY
#define WRONG_NAME "right-full"
#define WRONG_HOW  "nothing is wrong with this heap, which refuses a sixth timer"
#define WRONG_CASE "-"
#include "heap.h"
