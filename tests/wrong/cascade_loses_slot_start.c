#define WRONG      LOSES_SLOT_START
#define WRONG_NAME "cascade-loses-slot-start"
#define WRONG_HOW  "on cascade loses what is due at the very start of the slot"
#define WRONG_CASE "boundaries"
#include "cascade.h"
