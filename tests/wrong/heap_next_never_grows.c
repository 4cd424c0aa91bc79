#define WRONG      NEXT_NEVER_GROWS
#define WRONG_NAME "heap-next-never-grows"
#define WRONG_HOW  "next says now as long as anything is pending"
#define WRONG_CASE "next-drive"
#include "heap.h"
