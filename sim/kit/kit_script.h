/*
 * kit_script.h: the contract cases (kit_cases.c has the list), and the functions that they are written
 * with. A case opens a subject, executes operations on it and closes it; the judge (kit_subject.h)
 * compares the result of every call with the model, and reports faults.
 */
#ifndef SIM_KIT_SCRIPT_H
#define SIM_KIT_SCRIPT_H

#include "due.h"
#include "kit_subject.h"

/* Run the case under the options of the run. */
typedef void kit_case_fn(struct kit_run *run);

kit_case_fn case_create, case_empty, case_destroy_pending, case_two_instances,
    case_several_instances, case_deadline_near, case_boundaries, case_boundaries_together,
    case_deadline_far, case_announced, case_restart, case_stop_idle, case_stop_pending,
    case_reused_id, case_callback_self, case_callback_others, case_callback_same_tick,
    case_callback_again, case_callback_mixed, case_budget, case_budget_left_over,
    case_budget_callback, case_advance_mixed, case_advance_jump, case_long_idle, case_precision,
    case_next, case_next_drive, case_next_turn, case_order, case_fifo, case_refused, case_full,
    case_horizon, case_options_ends, case_reserve_grows, case_reserve_word, case_allocation_failure,
    case_memory_guard, case_memory_pages, case_memory_sizes, case_memory_in_sight,
    case_memory_bounded, case_many_one_tick, case_many_exactly, case_many_churn, case_many_reserved,
    case_callback_crowd, case_long_life, case_number_again, case_records, case_records_moved,
    case_records_beside, case_records_none, case_records_alike, case_records_contract, case_small,
    case_invariants, case_counters, case_undisturbed, case_cost, case_span, case_determinism,
    case_two_threads, case_concurrent_steps, case_concurrent_stress;

#define LENGTH(array)        (sizeof(array) / sizeof(array)[0])

/* Memory limit of a structure under option values that are not its defaults. */
#define SCRIPT_VARIANT_BYTES ((uint64_t)32 << 20)

/* Initial clocks: round numbers, powers, and their neighbours. */
#define SCRIPT_EPOCHS        12u
extern const uint64_t script_epochs[SCRIPT_EPOCHS];

/* Delays at and around the sizes of slots and wheels. */
#define SCRIPT_DELAYS 35u
extern const uint64_t script_delays[SCRIPT_DELAYS];

/* The powers of two from 2^0 to 2^63. */
extern const uint64_t script_powers[64];

/* Whether the run is under the target's own option values. */
bool script_is_default(const struct kit_run *run);

/* Return a number from `least` to `most` that depends on the target's seed. */
uint32_t script_drawn(const struct kit_run *run, uint32_t least, uint32_t most);

/* Ready a subject under the run's options, for subject_create. */
void script_init(struct kit_run *run, struct kit_subject *subject);

/* Make a structure under the run's options; false if it refuses them, which is a fault for the
 * defaults. */
bool script_open(struct kit_run *run, struct kit_subject *subject, uint32_t capacity, uint64_t now);

/* The same with the longest delay announced; 0: not known. */
bool script_open_announced(struct kit_run *run, struct kit_subject *subject, uint32_t capacity,
                           uint64_t now, uint64_t max_delay_ticks);

/* Inspect, let all timers fire, inspect again, and destroy. */
void script_close(struct kit_subject *subject);

/* Return by which factor to reduce the work on a structure that is large, so that making, filling
 * and inspecting it costs more than operations. 1 for most. */
unsigned script_thrift(const struct kit_subject *subject);

/* One operation each. Time advances to `now` unless that has passed; a deadline beyond the last
 * legal one becomes that. */
void script_advance(struct kit_subject *subject, uint64_t now);
void script_start(struct kit_subject *subject, uint32_t id, uint64_t delay_ticks);
void script_stop(struct kit_subject *subject, uint32_t id);

/* Advance from due tick to due tick, also to the ticks before and after each, until no timer is
 * pending. */
void script_settle(struct kit_subject *subject);

/* Execute a list of operations, separated by semicolons: those of kit_trace.h on one structure, but
 * no actions of callbacks, and
 *
 *     next                 ask for the next expiry
 *     settle               advance from due tick to due tick until no timer is pending
 *     draw                 start or stop a drawn timer; needs traffic, as do the next ones
 *     start all            start each timer with a drawn delay
 *     churn 60             60 times, draw and advance irregularly; or `by one`, by one tick each time
 *     300 times stop 1     the operation is repeated
 *     9 times (...; ...)   so is a group
 *
 * A number may be a letter: A is numbers[0], B is numbers[1], and so on; A+2, A-2, A*2 and A/2 are
 * numbers, too. Ids beyond the capacity are skipped. */
void script_do(struct kit_subject *subject, const char *list, const uint64_t *numbers);

/* Execute a list on one structure for each value A, and, if it contains a B, for each value B as
 * well; C is how often it was executed before, D how often it still will be. Drawn delays are mostly
 * shorter than A. At the end all timers expire. */
void script_each(struct kit_run *run, uint32_t capacity, uint64_t now, const uint64_t *values,
                 size_t count, const char *list);

/* A share of the time of a case; a slow structure does less in it. */
struct script_time {
    uint64_t until_ns; /* of processor time */
    bool is_over;
};

struct script_time script_time(const struct kit_run *run, double share);

/* Whether there is time left. */
bool script_has_time(struct script_time *time);

/* The same before step `i` of many small ones: the clock is read at some of them only. */
bool script_goes_on(struct script_time *time, uint64_t i);

/* --- random traffic -------------------------------------------------------------------------- */

/* Random operations of a case. */
struct traffic {
    uint64_t random;
    uint64_t span; /* delays are mostly shorter */
    uint64_t boundaries[KIT_BOUNDARIES_MAX];
    size_t boundary_count; /* 0: not computed */
};

/* Begin the traffic of a structure, or begin another one. */
void script_traffic(struct kit_subject *subject, uint64_t span, uint64_t seed);

/* Draw a delay for a timer that is started now. */
uint64_t script_draw_delay(const struct kit_subject *subject);

/* Start, restart or stop some timer. */
void script_draw_operation(struct kit_subject *subject);

enum pace { BY_ONE, IRREGULARLY };

/* Execute `steps` times one operation, if there are timers, and one advance. */
void script_churn(struct kit_subject *subject, unsigned steps, enum pace pace);

/* Operations on a subject with traffic, between opening and closing. */
typedef void script_fn(struct kit_subject *subject);

/* Open a subject, call `body` and close it. */
void script_play(struct kit_run *run, uint32_t capacity, uint64_t now, uint64_t span, uint64_t seed,
                 script_fn *body);

#endif
