#define WRONG      SHARES_WHAT_IT_SIFTS
#define WRONG_NAME "heap-shares-sifted"
#define WRONG_HOW  "all structures keep the entry that start sifts in one place"
#define WRONG_CASE "two-threads"
#include "heap.h"
