#define WRONG      INDEX_OF_16_BITS
#define WRONG_NAME "many-index-of-16-bits"
#define WRONG_HOW  "ids are kept in 16 bits"
#define WRONG_CASE "many-one-tick"
#include "many.h"
