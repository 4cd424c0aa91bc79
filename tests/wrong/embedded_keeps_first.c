#define WRONG      KEEPS_FIRST
#define WRONG_NAME "embedded-keeps-first"
#define WRONG_HOW  "keeps the address of its first timer when the records move"
#define WRONG_CASE "records-moved"
#include "embedded.h"
