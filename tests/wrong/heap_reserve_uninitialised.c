#define WRONG      RESERVE_FORGETS_TO_INITIALISE
#define WRONG_NAME "heap-reserve-uninitialised"
#define WRONG_HOW  "new ids come out of reserve as if they were pending"
#define WRONG_CASE "reserve-grows"
#include "heap.h"
