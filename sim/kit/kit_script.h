/*
 * kit_script.h: the functions that contract cases are written with. A case opens a subject, executes
 * operations on it and closes it; the judge (kit_subject.h) reports faults.
 */
#ifndef SIM_KIT_SCRIPT_H
#define SIM_KIT_SCRIPT_H

#include "due.h"
#include "kit_subject.h"

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

/* Return the memory limit of a structure under the run's option values. */
uint64_t script_limit_bytes(const struct kit_run *run);

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

/* The same with canaries or protected pages at each block of its memory and of the records; false
 * also if there is no memory. With pages, one subject at a time in a process. */
bool script_open_at(struct kit_run *run, struct kit_subject *subject, enum kit_guard_place place,
                    uint32_t capacity, uint64_t now);

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

/* Execute a list of operations, separated by semicolons: start, stop, advance, reserve and inspect as
 * in kit_trace.h, and
 *
 *     next                 ask for the next expiry
 *     settle               advance from due tick to due tick until no timer is pending
 *     300 times stop 1     the operation is repeated
 *     9 times (...; ...)   so is a group
 *
 * A number may be a letter: A is numbers[0], B is numbers[1], and so on; A+2, A-2, A*2 and A/2 are
 * numbers, too. Ids beyond the capacity are skipped. */
void script_do(struct kit_subject *subject, const char *list, const uint64_t *numbers);

/* Execute a list on one structure for each value A, and, if it contains a B, for each value B as
 * well; C is how often it was executed before, D how often it still will be. At the end all timers
 * expire. */
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
    uint64_t boundaries[KIT_BOUNDARIES_MAX];
    size_t boundary_count;
    uint64_t span; /* delays are mostly shorter */
};

/* Begin traffic for the structure of the run. */
void script_traffic(struct traffic *traffic, const struct kit_run *run, uint64_t span,
                    uint64_t seed);

/* Draw a delay for a timer that is started at `clock`. */
uint64_t script_draw_delay(struct traffic *traffic, uint64_t clock);

/* Start, restart or stop some timer. */
void script_draw_operation(struct traffic *traffic, struct kit_subject *subject);

/* Start timers 0 to count - 1 with drawn delays. */
void script_draw_starts(struct traffic *traffic, struct kit_subject *subject, uint32_t count);

enum pace { BY_ONE, IRREGULARLY, BY_NEXT };

/* Execute `steps` times one operation, if there are timers, and one advance. */
void script_churn(struct traffic *traffic, struct kit_subject *subject, unsigned steps,
                  enum pace pace);

/* Operations on a subject between opening and closing. */
typedef void script_fn(struct kit_subject *subject, struct traffic *traffic);

/* Open a subject, call `body` and close it; false if it could not be opened. */
bool script_play(struct kit_run *run, uint32_t capacity, uint64_t now, uint64_t span, uint64_t seed,
                 script_fn *body);

/* The same for each span with successive seeds, until a subject cannot be opened. */
void script_each_span(struct kit_run *run, uint32_t capacity, uint64_t now, const uint64_t *spans,
                      size_t count, uint64_t seed, script_fn *body);

#endif
