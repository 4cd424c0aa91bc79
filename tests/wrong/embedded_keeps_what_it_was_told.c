#define WRONG      KEEPS_WHAT_IT_WAS_TOLD
#define WRONG_NAME "embedded-keeps-what-it-was-told"
#define WRONG_HOW  "keeps the description of the records, which is valid during create only"
#define WRONG_CASE "records"
#include "embedded.h"
