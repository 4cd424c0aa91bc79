#define WRONG      NEEDS_RECORDS
#define WRONG_NAME "embedded-needs-records"
#define WRONG_HOW  "does not do without records"
#define WRONG_CASE "records-none"
#include "embedded.h"
