#define WRONG      INDEX_OF_20_BITS
#define WRONG_NAME "million-index-of-20-bits"
#define WRONG_HOW  "ids are kept in 20 bits"
#define WRONG_CASE "many-one-tick"
#include "many.h"
