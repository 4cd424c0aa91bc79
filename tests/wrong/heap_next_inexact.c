#define WRONG      NEXT_INEXACT
#define WRONG_NAME "heap-next-inexact"
#define WRONG_HOW  "promises to know the next firing and gives a bound"
#define WRONG_CASE "next"
#include "heap.h"
