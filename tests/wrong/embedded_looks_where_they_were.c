#define WRONG      LOOKS_WHERE_THEY_WERE
#define WRONG_NAME "embedded-looks-where-they-were"
#define WRONG_HOW  "copies its timers from where the records were"
#define WRONG_CASE "records-moved"
#include "embedded.h"
