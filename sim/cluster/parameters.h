/*
 * parameters.h: the parameters of a simulated cluster, one row each: name with its unit, default,
 * range, source of the default, description.
 */
#ifndef SIM_PARAMETERS_H
#define SIM_PARAMETERS_H

#include "error.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>

/* X(code, name, default, least, most, source, help). Lengths of time are in the unit of the name;
 * a time between faults of 0 means that there are none. "own" is a source: chosen. */
#define CLUSTER_PARAMETER_MAP(X)                                                                   \
    X(PAR_ARRIVALS, "arrivals_per_s", 10000, 1e-3, 1e9, "EventBridge's quota; OneSignal",          \
      "timers that are started in a second")                                                       \
    X(PAR_SHORT_SHARE, "delay_short_share", 0.6, 0, 1, "own", "share of short delays")             \
    X(PAR_SHORT_S, "delay_short_s", 900, 1e-3, 1e9, "own", "the longest short delay")              \
    X(PAR_MIDDLE_SHARE, "delay_middle_share", 0.3, 0, 1, "own", "share of middle delays")          \
    X(PAR_MIDDLE_S, "delay_middle_s", 86400, 1e-3, 1e9, "own", "the longest middle delay")         \
    X(PAR_LONG_S, "delay_long_s", 2592000, 1e-3, 1e9, "own", "the longest of the others")          \
    X(PAR_MINUTE_SHARE, "on_minute_share", 0.3, 0, 1, "sidekiq#3012",                              \
      "share of deadlines on a whole minute")                                                      \
    X(PAR_HOUR_SHARE, "on_hour_share", 0.05, 0, 1, "sidekiq#3012",                                 \
      "share of deadlines on a whole hour")                                                        \
    X(PAR_SAME_S, "same_deadline_s", 0, 0, 1e9, "own", "all deadlines in this moment (0: not)")    \
    X(PAR_CANCELLED, "cancelled_share", 0.15, 0, 1, "own",                                         \
      "share that is stopped before its time")                                                     \
    X(PAR_TICK_S, "tick_s", 1, 1e-3, 3600, "reference design, RocketMQ",                           \
      "length of a bucket that the shared clock passes")                                           \
    X(PAR_POLL_S, "poll_s", 1, 1e-3, 3600, "reference design; Sidekiq and PowerJob: 15",           \
      "how often each scheduler looks")                                                            \
    X(PAR_SCHEDULERS, "schedulers", 3, 1, 64, "own", "nodes that schedule")                        \
    X(PAR_SHARDS, "shards", 16, 1, 1024, "own", "of the store, each with syncs of its own")        \
    X(PAR_STORE_MS, "store_ms", 0.5, 0, 1e6, "measured", "round trip to the store, log-normal")    \
    X(PAR_SYNC_MS, "sync_ms", 0.27, 0, 1e6, "measured", "a sync of a calm disk")                   \
    X(PAR_STALL_MS, "sync_stall_ms", 3.5, 0, 1e6, "measured", "a sync of a busy one")              \
    X(PAR_STALL_SHARE, "sync_stall_share", 0.1, 0, 1, "measured", "share of busy ones")            \
    X(PAR_BATCH, "batch", 1000, 1, 1e7, "BullMQ, dyno-queues; PowerJob: 3000",                     \
      "timers of one look")                                                                        \
    X(PAR_HOSTS, "hosts", 8, 1, 4096, "own", "nodes that execute")                                 \
    X(PAR_SLOTS, "slots", 64, 1, 65536, "Temporal: 512 of a host", "calls at a time, of a host")   \
    X(PAR_SERVICE, "service", 0, 0, 2, "reference design",                                         \
      "a call's time is 0 log-normal, 1 exponential, 2 fixed")                                     \
    X(PAR_SERVICE_MS, "service_ms", 20, 0, 1e7, "reference design",                                \
      "its median (log-normal), mean or length")                                                   \
    X(PAR_SERVICE_P99, "service_p99_ms", 500, 0, 1e7, "reference design: hundreds of ms",          \
      "its percentile 99, if log-normal")                                                          \
    X(PAR_TIMEOUT_S, "timeout_s", 3, 1e-3, 1e9, "own", "of a call")                                \
    X(PAR_FAILURE, "failure_share", 0.01, 0, 1, "own", "calls that fail")                          \
    X(PAR_REPLY_LOST, "reply_lost_share", 0.001, 0, 1, "own", "calls that are done unheard")       \
    X(PAR_LATER, "later_share", 0, 0, 0.9, "reference design", "calls answered with a later time") \
    X(PAR_LATER_S, "later_s", 300, 1e-3, 1e9, "own", "how much later that is")                     \
    X(PAR_OUTAGE_EVERY, "outage_every_s", 21600, 0, 1e9, "own", "between outages of the service")  \
    X(PAR_OUTAGE_S, "outage_s", 300, 0, 1e9, "own", "length of one")                               \
    X(PAR_RETRY_S, "retry_s", 1, 1e-3, 1e9, "EventBridge", "the first wait before a retry")        \
    X(PAR_RETRY_FACTOR, "retry_factor", 2, 1, 100, "EventBridge", "the next is longer by this")    \
    X(PAR_RETRY_CAP, "retry_cap_s", 900, 1e-3, 1e9, "EventBridge", "none is longer")               \
    X(PAR_ATTEMPTS, "attempts", 10, 1, 200, "EventBridge: 185",                                    \
      "calls that fail until it is dead")                                                          \
    X(PAR_LEASE_S, "lease_s", 60, 1e-3, 1e9, "dyno-queues; BullMQ: 30; Celery: 3600",              \
      "how long a taken timer is its taker's")                                                     \
    X(PAR_REAP_S, "reap_s", 1, 0, 1e9, "own", "between looks for leases that ended (0: at once)")  \
    X(PAR_SCAN, "scan", 1, 0, 1, "reference design", "whether there is a second pass")             \
    X(PAR_SCAN_DELAY, "scan_delay_s", 600, 1e-3, 1e9, "reference design",                          \
      "delay after the first pass")                                                                \
    X(PAR_SCAN_EVERY, "scan_every_s", 60, 1e-3, 1e9, "Quartz", "how often it looks")               \
    X(PAR_SCAN_BATCH, "scan_batch", 3000, 1, 1e7, "PowerJob; Quartz: 20", "timers of one pass")    \
    X(PAR_CRASH_EVERY, "crash_every_s", 604800, 0, 1e12, "own",                                    \
      "between crashes of one node, exponential")                                                  \
    X(PAR_RESTART_S, "restart_s", 30, 0, 1e9, "own", "until it is there again")                    \
    X(PAR_DETECT_S, "detect_s", 15, 0, 1e9, "Quartz: 7.5; ZooKeeper sessions: 30",                 \
      "until others know")                                                                         \
    X(PAR_PAUSE_EVERY, "pause_every_s", 86400, 0, 1e12, "own", "between pauses of one node")       \
    X(PAR_PAUSE_S, "pause_s", 2, 0, 1e9, "own", "length of one")                                   \
    X(PAR_CUT_EVERY, "partition_every_s", 604800, 0, 1e12, "own",                                  \
      "between times that one node does not reach the store")                                      \
    X(PAR_CUT_S, "partition_s", 20, 0, 1e9, "own", "length of one")                                \
    X(PAR_OFFSET_MS, "clock_offset_ms", 5, 0, 1e6, "own", "deviation of the schedulers' clocks")   \
    X(PAR_STEP_EVERY, "clock_step_every_s", 2592000, 0, 1e12, "own",                               \
      "between jumps of one scheduler's clock")                                                    \
    X(PAR_STEP_S, "clock_step_s", 1, 0, 1e6, "own", "by which it jumps, to either side")           \
    X(PAR_SLOW_EVERY, "slow_store_every_s", 86400, 0, 1e12, "own",                                 \
      "between times of a slow store")                                                             \
    X(PAR_SLOW_S, "slow_store_s", 60, 0, 1e9, "own", "length of one")                              \
    X(PAR_SLOW_FACTOR, "slow_store_factor", 100, 1, 1e6, "own", "by which it is slower")           \
    X(PAR_HALT_AT, "halt_at_s", 0, 0, 1e9, "own", "when all schedulers stop (0: never)")           \
    X(PAR_HALT_S, "halt_s", 0, 0, 1e9, "own", "for how long")

enum cluster_parameter {
#define CLUSTER_PARAMETER_ENUM(code, name, value, least, most, source, help) code,
    CLUSTER_PARAMETER_MAP(CLUSTER_PARAMETER_ENUM)
#undef CLUSTER_PARAMETER_ENUM
        CLUSTER_PARAMETERS
};

/* A row for each parameter; ends with {0}. Their values are an array of doubles. */
extern const struct tl_option cluster_parameters[CLUSTER_PARAMETERS + 1];

void cluster_parameters_default(double values[CLUSTER_PARAMETERS]);

/* Without faults, to see the protocol alone. */
void cluster_parameters_calm(double values[CLUSTER_PARAMETERS]);

/* Applies "name=value". False, with the reason, for an unknown name or a value out of range. */
bool cluster_parameter_set(double values[CLUSTER_PARAMETERS], const char *text,
                           struct error *error);

#endif
