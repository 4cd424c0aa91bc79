#define WRONG      FREES_TWICE
#define WRONG_NAME "heap-frees-twice"
#define WRONG_HOW  "gives an array back twice, if timers are pending"
#define WRONG_CASE "destroy-pending"
#include "heap.h"
