#define WRONG      FREES_AS_SMALLER
#define WRONG_NAME "heap-frees-as-smaller"
#define WRONG_HOW  "gives itself back as smaller than it is"
#define WRONG_CASE "create"
#include "heap.h"
