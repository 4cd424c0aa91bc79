#define WRONG      COUNTS_WITHOUT_CALLBACK
#define WRONG_NAME "heap-counts-without-callback"
#define WRONG_HOW  "counts every expired timer and hands out the first"
#define WRONG_CASE "stop-pending"
#include "heap.h"
