/* part.h: shared by the processes of a run. */
#ifndef SIM_CLUSTER_PART_H
#define SIM_CLUSTER_PART_H

#include "journal.h"
#include "run.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUN_MEMBERS_MAX = 64 };

enum part_fault { PART_KILL = 1, PART_PAUSE, PART_KILL_ENGINE };

/* Of one process, and those that take its place. */
struct part_slot {
    atomic_int fault_in; /* points until the fault; 0: none is to come */
    enum part_fault fault;
    uint64_t fault_ns;  /* when it came */
    char failure[1024]; /* why it has given up */
};

/* Memory that all of them share. */
struct part_shared {
    atomic_ullong steps;
    atomic_ullong last_call_ms;
    atomic_ullong last_deadline_ms;
    atomic_bool faults_over; /* planners need not go on for their sake */
    atomic_bool over;        /* all go home */
    uint64_t begun_ns;
    atomic_int engine_pid;
    char url[3500];
    struct part_slot slots[RUN_ENGINE][RUN_MEMBERS_MAX];
};

/* A process of its own sees this. */
struct part {
    const struct run_plan *plan;
    struct part_shared *shared;
    struct part_slot *slot;
    const char *folder;
    enum run_role role;
    uint8_t member;
    uint16_t incarnation;
    int journal;
    struct engine *engine; /* NULL: not connected */
    struct error error;
};

/* The main functions of the processes, until the run is over. They return false, with part->error
 * set, if they cannot go on. */
bool part_plan(struct part *part);
bool part_schedule(struct part *part);
bool part_execute(struct part *part);
bool part_receive(struct part *part);

/* Milliseconds since the run began, on the clock of all. */
uint64_t part_now_ms(const struct part_shared *shared, const struct run_plan *plan);

/* A place where a fault may come. */
void part_point(struct part *part);

/* Sleep. */
void part_wait_ms(uint64_t ms);

/* Wait for more work, unless steps are time. */
void part_rest(const struct part *part);

bool part_is_over(const struct part *part);

/* The connection to the engine, made again if it is broken. NULL: it is over, or failed. */
struct engine *part_engine(struct part *part);

/* After each step: whether it was done. The first two close the connection, so that the caller goes
 * on from the beginning, or ends. */
enum part_go { PART_AGAIN, PART_END, PART_DONE };
enum part_go part_judge(struct part *part, enum engine_end end);

/* A record of this process about a timer. */
struct journal_record part_record(const struct part *part, enum journal_what what,
                                  const struct engine_timer *timer);

/* A number from 0 to 1 that belongs to these numbers. */
double part_chance(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* Where the service listens. */
void part_receiver_path(const struct part *part, char path[108]);

/* A service's name and a payload, which belong to that generation of a timer: PART_CALL_BYTES at
 * most. Returns the bytes. */
enum { PART_CALL_BYTES = 64 + 65536 };
size_t part_make_call(const struct run_plan *plan, uint64_t id, uint32_t generation,
                      unsigned char call[PART_CALL_BYTES]);

/* A request to the service: the total of bytes, then for each call a head and the call. The service
 * notes the records, and answers with them: `answer` says how it went, `at_ms` of CALL_LATER when
 * it wants to be called. */
struct part_call {
    struct journal_record record;
    uint64_t call_bytes;
};

#endif
