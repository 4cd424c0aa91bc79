#define WRONG      KEEPS_NEXT_POINTER
#define WRONG_NAME "wheel-keeps-next-pointer"
#define WRONG_HOW  "goes on from a pointer that a callback has made invalid"
#define WRONG_CASE "callback-stop-other"
#include "wheel.h"
