#define WRONG      STALE_ENTRY_FIRES
#define WRONG_NAME "heap-stale-entry-fires"
#define WRONG_HOW  "what a stop left behind fires when the id is used again"
#define WRONG_CASE "reused-id"
#include "heap.h"
