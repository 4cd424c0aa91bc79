#define WRONG      FORGETS_STRIDE
#define WRONG_NAME "embedded-forgets-stride"
#define WRONG_HOW  "takes records for as large as its own nodes"
#define WRONG_CASE "records"
#include "embedded.h"
