#define WRONG      NEVER_SIFTS_UP
#define WRONG_NAME "heap-never-sifts-up"
#define WRONG_HOW  "after a removal moves the last entry down, never up"
#define WRONG_CASE "advance-by-one"
#include "heap.h"
