#define WRONG      MIXES_MODULI
#define WRONG_NAME "wheel-mixes-moduli"
#define WRONG_HOW  "files modulo slots - 1 and looks modulo slots"
#define WRONG_CASE "deadline-next"
#include "wheel.h"
