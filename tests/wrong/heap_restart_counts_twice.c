#define WRONG      RESTART_COUNTS_TWICE
#define WRONG_NAME "heap-restart-counts-twice"
#define WRONG_HOW  "a restart counts the timer once more"
#define WRONG_CASE "restart-same"
#include "heap.h"
