#define WRONG      NEXT_LOOKS_ONE_UP
#define WRONG_NAME "cascade-next-looks-one-up"
#define WRONG_HOW  "next looks past the next cascade where the second wheel has nothing for it"
#define WRONG_CASE "next-turn"
#include "cascade.h"
