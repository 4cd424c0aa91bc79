/*
 * kit_script.h: what the contract cases are written with. A case opens a subject, does to it what
 * it is about, and closes it; the judge behind the subject (kit_subject.h) notices what is wrong.
 */
#ifndef SIM_KIT_SCRIPT_H
#define SIM_KIT_SCRIPT_H

#include "due.h"
#include "kit_run.h"
#include "kit_values.h"

#define LENGTH(array)        (sizeof(array) / sizeof(array)[0])

/* What a structure may take under option values that are not its defaults. */
#define SCRIPT_VARIANT_BYTES ((uint64_t)32 << 20)

/* Clocks to begin at: round numbers, powers, and their neighbours. */
#define SCRIPT_EPOCHS        12u
extern const uint64_t script_epochs[SCRIPT_EPOCHS];

/* Delays at and around the sizes of slots and wheels. */
#define SCRIPT_DELAYS 35u
extern const uint64_t script_delays[SCRIPT_DELAYS];

/* Whether the run is under the target's own option values. */
bool script_is_default(const struct kit_run *run);

/* What a structure may take under the run's option values. */
uint64_t script_limit_bytes(const struct kit_run *run);

/* Return a number from `least` to `most` that depends on the target's seed. */
uint32_t script_drawn(const struct kit_run *run, uint32_t least, uint32_t most);

/* Readies a subject under the run's options, for subject_create. */
void script_init(struct kit_run *run, struct kit_subject *subject);

/* Makes a subject under the run's options; false if the structure refuses them, which defaults
 * must not be. */
bool script_open(struct kit_run *run, struct kit_subject *subject, uint32_t capacity, uint64_t now);

/* The same, told the longest delay to come; 0: it is not known. */
bool script_open_announced(struct kit_run *run, struct kit_subject *subject, uint32_t capacity,
                           uint64_t now, uint64_t max_delay_ticks);

/* The same with protected pages at each block of its memory, and at the records. Of one process
 * that is about this subject; false too where there is no memory. */
bool script_open_at_pages(struct kit_run *run, struct kit_subject *subject,
                          enum kit_guard_place place, uint32_t capacity, uint64_t now);

/* Inspects, lets everything fire, inspects again, and destroys. */
void script_close(struct kit_subject *subject);

/* How much less to do with a structure that is large: making, filling and inspecting it then costs
 * more than what is done with it. 1 for most. */
unsigned script_thrift(const struct kit_subject *subject);

/* One operation each, counted as such. Time goes to `now` unless that has passed; a deadline is the
 * last legal one at most. */
void script_advance(struct kit_subject *subject, uint64_t now);
void script_start(struct kit_subject *subject, uint32_t id, uint64_t delay_ticks);
void script_stop(struct kit_subject *subject, uint32_t id);

/* Starts timers 0 to count - 1 for one delay. */
void script_start_all(struct kit_subject *subject, uint32_t count, uint64_t delay_ticks);

/* Goes from due tick to due tick, stopping just before each, on it, and just behind; then on until
 * nothing is pending. */
void script_settle(struct kit_subject *subject);

/* On one subject, `body` with the index of each of script_delays. */
void script_each_delay(struct kit_run *run, uint32_t capacity, uint64_t now,
                       void (*body)(struct kit_subject *subject, size_t index));

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

/* How it is drawn. */
struct traffic {
    uint64_t random;
    uint64_t boundaries[KIT_BOUNDARIES_MAX];
    size_t boundary_count;
    uint64_t span; /* delays are mostly shorter */
};

/* Begins traffic for the structure of the run. */
void script_traffic(struct traffic *traffic, const struct kit_run *run, uint64_t span,
                    uint64_t seed);

/* A delay for a timer that is started at `clock`. */
uint64_t script_draw_delay(struct traffic *traffic, uint64_t clock);

/* One start, restart or stop of some timer. */
void script_draw_operation(struct traffic *traffic, struct kit_subject *subject);

/* Starts timers 0 to count - 1, for delays that are drawn. */
void script_draw_starts(struct traffic *traffic, struct kit_subject *subject, uint32_t count);

enum pace { BY_ONE, IRREGULARLY, BY_NEXT };

/* So many times: an operation, if there are timers, and an advance. */
void script_churn(struct traffic *traffic, struct kit_subject *subject, unsigned steps,
                  enum pace pace);

/* What is done with a subject and its traffic between opening and closing. */
typedef void script_fn(struct kit_subject *subject, struct traffic *traffic);

/* Opens a subject, lets `body` do what it does, and closes it; false if it could not be opened. */
bool script_play(struct kit_run *run, uint32_t capacity, uint64_t now, uint64_t span, uint64_t seed,
                 script_fn *body);

/* The same for each span, the seed growing by one, until a subject cannot be opened. */
void script_each_span(struct kit_run *run, uint32_t capacity, uint64_t now, const uint64_t *spans,
                      size_t count, uint64_t seed, script_fn *body);

#endif
