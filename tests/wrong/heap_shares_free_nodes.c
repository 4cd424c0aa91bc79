#define WRONG      SHARES_FREE_NODES
#define WRONG_NAME "heap-shares-free-nodes"
#define WRONG_HOW  "all structures take their nodes from one free list"
#define WRONG_CASE "two-instances"
#include "heap.h"
