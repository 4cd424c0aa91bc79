#define WRONG      OTHER_ORDER
#define WRONG_NAME "embedded-other-order"
#define WRONG_HOW  "fires timers of one tick in another order where there are records"
#define WRONG_CASE "records-alike"
#include "embedded.h"
