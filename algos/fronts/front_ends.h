/* front_ends.h: the front ends, one file each. Internal to algos. */
#ifndef ALGOS_FRONT_ENDS_H
#define ALGOS_FRONT_ENDS_H

#include "front.h"

extern const struct tl_front tl_front_locked;
extern const struct tl_front tl_front_handoff;
extern const struct tl_front tl_front_sharded;

#endif
