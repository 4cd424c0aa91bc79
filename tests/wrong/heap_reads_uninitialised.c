#define WRONG      READS_UNINITIALISED
#define WRONG_NAME "heap-reads-uninitialised"
#define WRONG_HOW  "breaks ties by a flag that nobody set"
#define WRONG_CASE "determinism"
#include "heap.h"
