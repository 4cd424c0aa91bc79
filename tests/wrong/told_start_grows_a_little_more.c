#define WRONG      START_GROWS_A_LITTLE_MORE
#define WRONG_NAME "told-start-grows-a-little-more"
#define WRONG_HOW  "a start grows by a little more than is borne"
#define WRONG_CASE "cost"
#include "told.h"
