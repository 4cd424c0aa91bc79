#define WRONG      FULL_FORGETS
#define WRONG_NAME "heap-full-forgets"
#define WRONG_HOW  "drops the pending timer whose new deadline it refuses"
#define WRONG_CASE "full"
#include "heap.h"
