#define WRONG      NOTHING
#define WRONG_NAME "right-many"
#define WRONG_HOW  "a wheel of lists with due ticks"
#define WRONG_CASE "-"
#include "many.h"
