#define WRONG      FILES_BEHIND_FETCHED
#define WRONG_NAME "seed-files-behind-fetched"
#define WRONG_HOW  "does not look again at a slot that was fetched and then filed into"
#define WRONG_CASE "deadline-now"
#include "seed.h"
