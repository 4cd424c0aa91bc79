#define WRONG      NOTHING
#define WRONG_NAME "right-heap"
#define WRONG_HOW  "nothing is wrong with this heap"
#define WRONG_CASE "-"
#include "heap.h"
