/*
 * gen_rtt.h: the estimator of the round trip time in TCP and QUIC (RFC 6298 section 2, RFC 9002
 * section 5.3).
 */
#ifndef SIM_GEN_RTT_H
#define SIM_GEN_RTT_H

struct gen_rtt {
    float smoothed_ticks; /* 0: no sample yet */
    float variation_ticks;
};

/* Add a sample. */
static inline void gen_rtt_sample(struct gen_rtt *rtt, float ticks)
{
    if (!(rtt->smoothed_ticks > 0)) {
        *rtt = (struct gen_rtt){.smoothed_ticks = ticks, .variation_ticks = ticks / 2};
        return;
    }
    float apart = rtt->smoothed_ticks - ticks;
    apart = apart < 0 ? -apart : apart;
    rtt->variation_ticks = 0.75F * rtt->variation_ticks + 0.25F * apart;
    rtt->smoothed_ticks = 0.875F * rtt->smoothed_ticks + 0.125F * ticks;
}

#endif
