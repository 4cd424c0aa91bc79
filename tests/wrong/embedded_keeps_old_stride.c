#define WRONG      KEEPS_OLD_STRIDE
#define WRONG_NAME "embedded-keeps-old-stride"
#define WRONG_HOW  "takes records for as far apart as before they moved"
#define WRONG_CASE "records-moved"
#include "embedded.h"
