#define WRONG      STALE_INDEX_STOPS_ANOTHER
#define WRONG_NAME "heap-stale-index-stops-another"
#define WRONG_HOW  "stopping a timer that has fired stops another"
#define WRONG_CASE "stop-fired"
#include "heap.h"
