#include "rank_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Prefix a text with its rank, truncated to its size. */
static void sign(char *text, size_t bytes, uint32_t rank)
{
    char mark[32];
    if (text[0] == '\0') {
        return;
    }
    size_t length = (size_t)snprintf(mark, sizeof mark, "rank %" PRIu32 ": ", rank);
    size_t kept = strnlen(text, bytes - 1 - length);
    memmove(text + length, text, kept);
    memcpy(text, mark, length);
    text[length + kept] = '\0';
}

static void merge_lateness(struct verdict *all, const struct verdict *one)
{
    if (one->early_ticks.total + one->late_ticks.total == 0) {
        return;
    }
    bool first = all->early_ticks.total + all->late_ticks.total == 0;
    if (first || one->lateness_min < all->lateness_min) {
        all->lateness_min = one->lateness_min;
    }
    if (first || one->lateness_max > all->lateness_max) {
        all->lateness_max = one->lateness_max;
    }
    histogram_merge(&all->early_ticks, &one->early_ticks);
    histogram_merge(&all->late_ticks, &one->late_ticks);
}

static void merge_faults(struct verdict *all, const struct verdict *one, uint32_t rank)
{
    for (uint64_t i = 0; i < one->fault_count && i < ORACLE_FAULTS_KEPT &&
                         all->fault_count + i < ORACLE_FAULTS_KEPT;
         i++) {
        struct fault *fault = &all->first[all->fault_count + i];
        *fault = one->first[i];
        sign(fault->detail, sizeof fault->detail, rank);
    }
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        all->faults[kind] += one->faults[kind];
    }
    all->fault_count += one->fault_count;
}

static void merge_verdict(struct verdict *all, const struct verdict *one, uint32_t rank)
{
    all->events += one->events;
    all->starts += one->starts;
    all->restarts += one->restarts;
    all->stops += one->stops;
    all->fired += one->fired;
    all->drained += one->drained;
    all->averted += one->averted;
    all->declared.early_ticks = larger(all->declared.early_ticks, one->declared.early_ticks);
    all->declared.late_ticks = larger(all->declared.late_ticks, one->declared.late_ticks);
    merge_faults(all, one, rank);
    merge_lateness(all, one);
}

/* The more serious status prevails; of equal ones the first. */
static void merge_status(struct replay_result *all, const struct replay_result *one, uint32_t rank)
{
    static const unsigned weight[] = {
        [REPLAY_OK] = 0, [REPLAY_UNSUPPORTED] = 1, [REPLAY_NO_MEMORY] = 2, [REPLAY_FAULT] = 3};
    if (weight[one->status] > weight[all->status]) {
        all->status = one->status;
        memcpy(all->reason, one->reason, sizeof all->reason);
        sign(all->reason, sizeof all->reason, rank);
    }
}

static void merge_work(struct replay_result *all, const struct replay_result *one)
{
    all->counts = all->counts && one->counts;
    tl_counters_add(&all->counters, &one->counters);
    all->wakeups += one->wakeups;
    all->idle_wakeups += one->idle_wakeups;
    all->empty_ticks = larger(all->empty_ticks, one->empty_ticks);
    all->allocations += one->allocations;
    all->bytes_fixed += one->bytes_fixed;
    all->bytes_peak += one->bytes_peak;
    all->bytes_drained += one->bytes_drained;
    work_merge(&all->work, &one->work);
}

void rank_merge(struct replay_result *all, const struct replay_result *one, uint32_t rank)
{
    if (rank == 0) {
        memset(all, 0, sizeof *all);
        all->counts = one->counts;
        all->exact = one->exact;
        all->work = one->work;
        memset(all->work.stretches, 0, sizeof all->work.stretches);
    }
    merge_status(all, one, rank);
    merge_verdict(&all->verdict, &one->verdict, rank);
    merge_work(all, one);
    replay_merge_latencies(all, one);
    all->ids += one->ids;
    all->window_events += one->window_events;
    all->window_fired += one->window_fired;
    all->window_ns = larger(all->window_ns, one->window_ns);
    all->window_processor_ns = larger(all->window_processor_ns, one->window_processor_ns);
    all->digest += one->digest;
    all->named_digest += one->named_digest;
    all->operations_digest += one->operations_digest;
    all->reactions += one->reactions;
    all->not_reached += one->not_reached;
}

void rank_merge_outcome(struct child_outcome *all, const struct child_outcome *one, uint32_t rank)
{
    if (rank == 0) {
        *all = *one;
        sign(all->reason, sizeof all->reason, rank);
        return;
    }
    uint64_t output_bytes = all->output_bytes + one->output_bytes;
    if (one->end != CHILD_DONE && all->end != CHILD_FAILED &&
        (all->end == CHILD_DONE || one->end == CHILD_FAILED)) {
        *all = *one;
        sign(all->reason, sizeof all->reason, rank);
    }
    all->output_bytes = output_bytes;
}

void rank_figures_add(struct rank_figures *figures, enum replay_pass pass,
                      const struct replay_result *result)
{
    if (pass == PASS_CHECK) {
        figures->timers = (uint32_t)result->ids;
        figures->events = result->verdict.events;
        figures->fired = result->verdict.fired;
        figures->bytes_peak = result->bytes_peak;
    } else if (pass == PASS_THROUGHPUT) {
        figures->window_events += result->window_events;
        figures->window_ns += result->window_ns;
    }
}
