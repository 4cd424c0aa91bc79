/*
 * kit_syncs.h: limits the time that a structure waits for its disk during a check. Only a power
 * failure shows whether data has reached the disk, and crash/ tests those. So after some real calls,
 * fsync and fdatasync of this process return at once, and a check on a disk is as fast as in memory.
 */
#ifndef SIM_KIT_SYNCS_H
#define SIM_KIT_SYNCS_H

/* Limit the total time that this process waits in fsync and fdatasync. Without this call there is
 * no limit. */
void kit_syncs_limit(double seconds);

#endif
