#define WRONG      SHARES_ITS_BATCH
#define WRONG_NAME "heap-shares-batch"
#define WRONG_HOW  "all structures note what is due in one array"
#define WRONG_CASE "two-threads"
#include "heap.h"
