#define WRONG      READIES_ONE_MORE
#define WRONG_NAME "embedded-readies-one-more"
#define WRONG_HOW  "readies one record more than there is room for"
#define WRONG_CASE "records-beside"
#include "embedded.h"
