#define WRONG      COUNTERS_GO_BACK
#define WRONG_NAME "heap-counters-go-back"
#define WRONG_HOW  "gives its size for a count of work done"
#define WRONG_CASE "counters"
#include "heap.h"
