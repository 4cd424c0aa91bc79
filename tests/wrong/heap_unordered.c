#define WRONG      UNORDERED
#define WRONG_NAME "heap-unordered"
#define WRONG_HOW  "promises order and fires in the order of its array"
#define WRONG_CASE "order"
#include "heap.h"
