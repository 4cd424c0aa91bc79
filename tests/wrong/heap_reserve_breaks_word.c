#define WRONG      RESERVE_BREAKS_ITS_WORD
#define WRONG_NAME "heap-reserve-breaks-word"
#define WRONG_HOW  "reserve only takes note, and start then finds no memory"
#define WRONG_CASE "reserve-word"
#include "heap.h"
