#define WRONG      CRASHES
#define WRONG_NAME "heap-crashes"
#define WRONG_HOW  "reads far outside its memory when nothing is pending"
#define WRONG_CASE "empty"
#include "heap.h"
