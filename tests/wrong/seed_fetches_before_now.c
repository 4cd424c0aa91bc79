#define WRONG      FETCHES_BEFORE_NOW
#define WRONG_NAME "seed-fetches-before-now"
#define WRONG_HOW  "fetches what is due before now, not what is due now"
#define WRONG_CASE "deadline-next"
#include "seed.h"
