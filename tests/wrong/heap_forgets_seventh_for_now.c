#define WRONG      FORGETS_SEVENTH_FOR_NOW
#define WRONG_NAME "heap-forgets-seventh-for-now"
#define WRONG_HOW  "forgets the seventh timer of a tick whose callback starts it again for now"
#define WRONG_CASE "callback-again"
#include "heap.h"
