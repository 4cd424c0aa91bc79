#define WRONG      NEXT_TOO_LATE
#define WRONG_NAME "heap-next-too-late"
#define WRONG_HOW  "next says when the second timer is due"
#define WRONG_CASE "next"
#include "heap.h"
