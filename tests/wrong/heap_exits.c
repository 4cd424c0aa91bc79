#define WRONG      EXITS
#define WRONG_NAME "heap-exits"
#define WRONG_HOW  "ends the process after some operations"
#define WRONG_CASE "behaved"
#include "heap.h"
