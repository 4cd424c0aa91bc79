#define WRONG      PRINTS
#define WRONG_NAME "heap-prints"
#define WRONG_HOW  "prints a line for each restart"
#define WRONG_CASE "behaved"
#include "heap.h"
