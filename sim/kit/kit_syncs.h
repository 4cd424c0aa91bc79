/*
 * kit_syncs.h: how long a structure waits for its disk while it is checked. Whether data has reached
 * the disk shows after a power failure only, of which there are none here (crash/ has them). So
 * after some real calls, fsync and fdatasync of this process return at once: a check takes no
 * longer on a disk than in memory, and nothing is left out.
 */
#ifndef SIM_KIT_SYNCS_H
#define SIM_KIT_SYNCS_H

/* From now on this process waits at most about so long for fsync and fdatasync together. Until this
 * is called they do what they always do. */
void kit_syncs_limit(double seconds);

#endif
