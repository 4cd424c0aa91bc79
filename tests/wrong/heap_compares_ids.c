#define WRONG      COMPARES_IDS
#define WRONG_NAME "heap-compares-ids"
#define WRONG_HOW  "orders by where timers lie in memory instead of by deadline"
#define WRONG_CASE "boundaries-together"
#include "heap.h"
