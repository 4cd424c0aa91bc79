#define WRONG      NEEDS_MORE
#define WRONG_NAME "embedded-needs-more"
#define WRONG_HOW  "says that it needs 8 bytes fewer than it does"
#define WRONG_CASE "records-beside"
#include "embedded.h"
