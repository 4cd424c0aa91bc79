/*
 * gen_tcp_parameters.h: the parameters of the workload tcp, one row each; gen_tcp.c makes of them
 * their places and their table, including this twice:
 *
 *   ROW(place, ...)              the rest is a struct gen_parameter's
 *   GROUP(place, count, ...)     the rest is so many of them
 */
#define NGINX "fitted to the recording ktimer_nginx_keepalive"
#define KNOT(place, curve, k)                                                                      \
    ROW(place##_##k##_S, curve "_" #k "_s", 0, 0, 1e8,                                             \
        "knot " #k " of that curve: time in the window", "chosen: none", NULL)                     \
    ROW(place##_##k, curve "_" #k, 0, 0, 1, "share that has come by then", "chosen: none", NULL)
#define KNOTS(place, curve)                                                                        \
    KNOT(place, curve, 1)                                                                          \
    KNOT(place, curve, 2)                                                                          \
    KNOT(place, curve, 3)                                                                          \
    KNOT(place, curve, 4)                                                                          \
    KNOT(place, curve, 5)                                                                          \
    KNOT(place, curve, 6)                                                                          \
    KNOT(place, curve, 7)                                                                          \
    KNOT(place, curve, 8)

GROUP(TICK_US, 1, [TICK_US] = GEN_TICK_US_ROW(1000))
ROW(ENDS, "ends", ENDS_SERVER, 0, 0,
    "whose timers: the server's, whose peers are elsewhere; the client's; both's, on one host",
    "chosen", ends_words)
ROW(RATE_PER_S, "rate_per_s", 1.4, 1e-6, 1e5, "requests a second on a connection", NGINX, NULL)
ROW(GAP_P0, "gap_p0", 20, 1e-6, 1e9,
    "gaps from request to request: the least; only proportions count", NGINX, NULL)
ROW(GAP_P0_1, "gap_p0.1", 80, 1e-6, 1e9, "one in a thousand is shorter", NGINX, NULL)
ROW(GAP_P1, "gap_p1", 180, 1e-6, 1e9, "1 %", NGINX, NULL)
ROW(GAP_P3, "gap_p3", 184, 1e-6, 1e9, "3 %", NGINX, NULL)
ROW(GAP_P10, "gap_p10", 196, 1e-6, 1e9, "10 %", NGINX, NULL)
ROW(GAP_P20, "gap_p20", 216, 1e-6, 1e9, "20 %", NGINX, NULL)
ROW(GAP_P30, "gap_p30", 236, 1e-6, 1e9, "30 %", NGINX, NULL)
ROW(GAP_P40, "gap_p40", 268, 1e-6, 1e9, "40 %", NGINX, NULL)
ROW(GAP_P50, "gap_p50", 308, 1e-6, 1e9, "half of them", NGINX, NULL)
ROW(GAP_P60, "gap_p60", 368, 1e-6, 1e9, "60 %", NGINX, NULL)
ROW(GAP_P70, "gap_p70", 460, 1e-6, 1e9, "70 %", NGINX, NULL)
ROW(GAP_P80, "gap_p80", 632, 1e-6, 1e9, "80 %", NGINX, NULL)
ROW(GAP_P90, "gap_p90", 1120, 1e-6, 1e9, "90 %", NGINX, NULL)
ROW(GAP_P95, "gap_p95", 1864, 1e-6, 1e9, "95 %", NGINX, NULL)
ROW(GAP_P97, "gap_p97", 0, 0, 1e9, "97 %; 0: on the way from the point before to the one behind",
    "chosen: so", NULL)
ROW(GAP_P98, "gap_p98", 0, 0, 1e9, "98 %, likewise", "chosen: so", NULL)
ROW(GAP_P99, "gap_p99", 4840, 1e-6, 1e9, "99 %", NGINX, NULL)
ROW(GAP_P100, "gap_p100", 33600, 1e-6, 1e9, "the longest", NGINX, NULL)
ROW(GAP_KEPT, "gap_kept", 0, 0, 1,
    "share of its gaps that a connection draws from one eighth of that law, always the same",
    "chosen: none", NULL)
ROW(GAP_SLOW, "gap_slow", 0, 0, 1, "share of the connections whose gaps are longer", "chosen: none",
    NULL)
ROW(GAP_SLOW_TIMES, "gap_slow_times", 1, 1, 1e6, "so many times as long; the mean of all stays",
    "chosen: none", NULL)
ROW(GAP_MOST_S, "gap_most_s", 0, 0, 1e6, "no client waits for longer; 0: as long as the law says",
    "chosen: as the law says", NULL)
ROW(REPLY_MEDIAN_MS, "reply_median_ms", 0.1, 0.001, 1e6, "median of the log-normal reply time",
    NGINX, NULL)
ROW(REPLY_SIGMA, "reply_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL)
ROW(PACING, "pacing", 0, 0, 1,
    "share of the connections whose server paces its replies, by a high-resolution timer",
    "chosen: none; Linux: BBR, SO_MAX_PACING_RATE", NULL)
ROW(PACING_BURSTS, "pacing_bursts", 4, 1, 1e6,
    "mean number of bursts that a paced reply takes, at least one", "chosen", NULL)
ROW(PACING_MS, "pacing_ms", 1, 0.001, 100,
    "from a burst to the next: what it takes at the pacing rate",
    "Linux's sk_pacing_shift: about 1 ms", NULL)
ROW(CLOSE, "close", 0.0125, 0, 1, "probability that a reply is a connection's last", NGINX, NULL)
ROW(CLOSE_ASKED, "close_asked", 1, 0, 1,
    "share of the closes of a window that come right after a reply", "chosen", NULL)
ROW(CLOSE_CLIENT, "close_client", 0, 0, 1, "share of the closes that the client begins", "chosen",
    NULL)
ROW(CLOSE_REQUESTS, "close_requests", 0, 0, 1e9,
    "the server closes with the reply to so many requests of a connection; 0: no limit",
    "chosen: none; nginx's keepalive_requests", NULL)
ROW(CLOSE_IDLE_S, "close_idle_s", 0, 0, 1e6,
    "the server closes what has not asked again for so long; 0: it waits",
    "chosen: waits; nginx's keepalive_timeout", NULL)
ROW(VANISH, "vanish", 0.0001, 0, 1,
    "probability that the peer vanishes instead of its next request", "chosen", NULL)
ROW(PAUSE_S, "pause_s", 1, 0.001, 86400,
    "mean time from the end of a connection to the next, exponential", "chosen", NULL)
ROW(RTT_MEDIAN_MS, "rtt_median_ms", 0.05, 0.001, 1e5,
    "median of the connections' log-normal round trip time", "one host: 0.05 ms", NULL)
ROW(RTT_SIGMA, "rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL)
ROW(JITTER, "jitter", 0.1, 0, 1, "each round trip is up to this share shorter or longer", "chosen",
    NULL)
ROW(LOSS, "loss", 0, 0, 1, "probability that a transmission or the ACK of a reply is lost", NGINX,
    NULL)
ROW(RTO_INITIAL_MS, "rto_initial_ms", 1000, 0.001, 1e6, "retransmission timeout of SYN and SYN-ACK",
    "Linux's TCP_TIMEOUT_INIT, RFC 6298: 1 s", NULL)
ROW(RTO_MIN_MS, "rto_min_ms", 200, 0.001, 1e6,
    "least that is added to the smoothed round trip time", "Linux's TCP_RTO_MIN", NULL)
ROW(RTO_MAX_S, "rto_max_s", 120, 0.001, 86400, "longest retransmission timeout",
    "Linux's TCP_RTO_MAX", NULL)
ROW(SYN_LINEAR, "syn_linear", 4, 0, 100, "repeated SYNs before the timeout doubles",
    "Linux's tcp_syn_linear_timeouts", NULL)
ROW(SYN_RETRIES, "syn_retries", 6, 0, 100,
    "repeated SYNs before connecting is given up; SYN-ACKs likewise", "Linux's TCP_SYN_RETRIES",
    NULL)
ROW(RETRIES, "retries", 15, 0, 100, "retransmissions before the connection is given up",
    "Linux's TCP_RETR2", NULL)
ROW(QUICK_ACKS, "quick_acks", 1, 0, 1e6,
    "a connection's first requests, which are acknowledged at once", NGINX, NULL)
ROW(QUICK_AGAIN_MIN, "quick_again_min", 0, 0, 16,
    "replies that the client acknowledges at once after a silence of its retransmission timeout; "
    "0: all, however long it was silent; each connection keeps one, uniform from this",
    "chosen: no pattern; recordings: 1 to 16", NULL)
ROW(QUICK_AGAIN_MAX, "quick_again_max", 0, 0, 16, "to this, at most Linux's TCP_MAX_QUICKACKS",
    "chosen: no pattern; recordings: 1 to 16", NULL)
ROW(DELACK_REPLY, "delack_reply", 0, 0, 1, "share of the other replies whose ACK it delays as well",
    NGINX, NULL)
ROW(DELACK_MIN_MS, "delack_min_ms", 40, 0.001, 1e6,
    "delayed ACK: each connection keeps one, uniform from this", "Linux's TCP_DELACK_MIN", NULL)
ROW(DELACK_MAX_MS, "delack_max_ms", 40, 0.001, 1e6,
    "to this, at most Linux's TCP_DELACK_MAX of 200; recordings have the least", NGINX, NULL)
ROW(KEEPALIVE, "keepalive", 0.565, 0, 1,
    "share of the connections with keepalive at the server's end; of a window, those that last",
    NGINX, NULL)
ROW(KEEPALIVE_CLIENT, "keepalive_client", 1, 0, 1,
    "share of these that have it at the client's end, too", NGINX, NULL)
ROW(KEEPALIVE_S, "keepalive_s", 15, 0.001, 1e6, "silence before the first probe", NGINX, NULL)
ROW(KEEPALIVE_DEFAULT, "keepalive_default", 0, 0, 1,
    "share of them that begin with Linux's own silence of two hours", NGINX, NULL)
ROW(KEEPALIVE_SET, "keepalive_set", 1, 0, 1,
    "share of these that are given keepalive_s at once; of a window, those that last", "chosen",
    NULL)
ROW(PROBE_INTERVAL_S, "probe_interval_s", 5, 0.001, 86400, "from probe to probe", NGINX, NULL)
ROW(PROBES, "probes", 9, 1, 100, "unanswered probes before the connection is dropped",
    "Linux's TCP_KEEPALIVE_PROBES", NULL)
ROW(FIN_WAIT2_S, "fin_wait2_s", 60, 0, 1e6,
    "FIN_WAIT2, by the keepalive timer; 0: none, peers close at once", "Linux's tcp_fin_timeout",
    NULL)
ROW(TIME_WAIT_S, "time_wait_s", 60, 0.001, 86400, "TIME_WAIT", "Linux's TCP_TIMEWAIT_LEN", NULL)
ROW(LATE_TICKS, "late_ticks", 1, 0, 1000,
    "added to each delay: a wheel counts the tick that has begun as over",
    "Linux's wheel: one jiffy", NULL)
ROW(WHEEL, "wheel", WHEEL_LINUX, 0, 0,
    "when the code of a keepalive timer runs: on its tick, or late as in Linux's wheel, by up to "
    "an eighth of its delay",
    "Linux's levels", wheel_words)
GROUP(ACTIVITY, GEN_ACTIVITY_ROWS,
      GEN_ACTIVITY_BUT(ACTIVITY, 1,
                       "chosen: none, the fitted gaps are all; below 1 they do not count", 20,
                       GEN_TOGETHER_SERVER))
GROUP(HERDS, GEN_HERD_ROWS, GEN_HERDS(HERDS))
ROW(OPEN_FIRST, "open_first", 0, 0, 1,
    "a window: share of the connections that are open when it begins", "chosen: none", NULL)
ROW(OPEN_FIRST_S, "open_first_s", 0, 0, 1e6,
    "the first of these were opened so long before; 0: anywhere in their keepalive time",
    "chosen: anywhere", NULL)
ROW(OPEN_FIRST_OVER_S, "open_first_over_s", 0, 0, 1e6, "and the last of them so much later",
    "chosen: all at once", NULL)
ROW(OPEN_AGAIN, "open_again", 0, 0, 1,
    "share of the closings with which another connection opens at once", "chosen: none", NULL)
ROW(OPEN_SPARE, "open_spare", 0, 0, 1,
    "share of the connections that are none, but room for the TIME_WAITs of those that the server "
    "closes for close_requests or close_idle_s and that open again at once",
    "chosen: none", NULL)
ROW(PLAN_KEPT, "plan_kept", 0, 0, 1,
    "share of the clients that the server has closed for close_idle_s and that open again, which "
    "then ask when they would have, too, besides what they ask anew",
    "chosen: none; wrk does", NULL)
ROW(OPEN_EVEN, "open_even", 0, 0, 1, "share of its openings that are evenly spaced along the curve",
    "chosen: none", NULL)
ROW(PACE_END, "pace_end", 1, 0.01, 100,
    "at its end requests come so many times as fast as at its begin", "chosen: steady", NULL)
ROW(CLOSE_ENDED, "close_ended", 0, 0, 1, "share of the connections that close in it",
    "chosen: none", NULL)
ROW(CLOSE_EVEN, "close_even", 0, 0, 1,
    "share of its closings that are evenly spaced along the curve", "chosen: none", NULL)
ROW(CLOSE_YOUNG, "close_young", 1, 0, 1,
    "its closes end one of this share of those open, the youngest", "chosen: any", NULL)
ROW(CLOSE_SINGLE, "close_single", 0, 0, 1,
    "share of the connections, the shortest, that wait for their only request until the close",
    "chosen: none", NULL)
KNOTS(OPEN, "open")
KNOTS(CLOSE, "close")

#undef NGINX
#undef KNOT
#undef KNOTS
