#define WRONG      LEAVES_FIRST_ON_CASCADE
#define WRONG_NAME "cascade-leaves-first"
#define WRONG_HOW  "on cascade leaves the first timer of the slot behind"
#define WRONG_CASE "boundaries"
#include "cascade.h"
