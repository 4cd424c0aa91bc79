#define WRONG      FORGETS_IN_ONE_SEQUENCE
#define WRONG_NAME "heap-forgets-in-one-sequence"
#define WRONG_HOW  "forgets a timer in one sequence of four operations, and no other"
#define WRONG_CASE "small-cases"
#include "heap.h"
