#define WRONG      KEEPS_OLD_BASE
#define WRONG_NAME "embedded-keeps-old-base"
#define WRONG_HOW  "goes on where the records were before they moved"
#define WRONG_CASE "records-moved"
#include "embedded.h"
