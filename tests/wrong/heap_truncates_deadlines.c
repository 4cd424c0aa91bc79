#define WRONG      TRUNCATES_DEADLINES
#define WRONG_NAME "heap-truncates-deadlines"
#define WRONG_HOW  "keeps 32 bits of a delay"
#define WRONG_CASE "deadline-far"
#include "heap.h"
