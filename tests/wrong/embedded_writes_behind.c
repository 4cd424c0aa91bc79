#define WRONG      WRITES_BEHIND
#define WRONG_NAME "embedded-writes-behind"
#define WRONG_HOW  "writes behind its bytes in the record"
#define WRONG_CASE "records-beside"
#include "embedded.h"
