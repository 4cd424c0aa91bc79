#define WRONG      FORGETS_OFFSET
#define WRONG_NAME "embedded-forgets-offset"
#define WRONG_HOW  "begins where the record begins"
#define WRONG_CASE "records"
#include "embedded.h"
