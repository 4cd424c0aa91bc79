#define WRONG      SCANS_FOR_MISSED
#define WRONG_NAME "seed-scans-for-missed"
#define WRONG_HOW  "takes what is queued for missed, and queues it again"
#define WRONG_CASE "budget"
#include "seed.h"
