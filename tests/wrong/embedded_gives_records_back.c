#define WRONG      GIVES_RECORDS_BACK
#define WRONG_NAME "embedded-gives-records-back"
#define WRONG_HOW  "gives the records to the allocator"
#define WRONG_CASE "records"
#include "embedded.h"
