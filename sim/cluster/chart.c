/* One column for each process, the table, the queue and the user's service. */
#include "chart.h"

#include "memory.h"
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

enum lane {
    PLANNER,
    TABLE,
    SCHEDULER_1,
    SCHEDULER_2,
    QUEUE,
    EXECUTOR_1,
    EXECUTOR_2,
    SERVICE,
    LANES
};
static const char *const lane_names[LANES] = {"planner", "table",      "scheduler 1", "scheduler 2",
                                              "queue",   "executor 1", "executor 2",  "service"};

static enum lane lane_of(unsigned actor)
{
    static const enum lane lanes[CHECK_ACTORS] = {PLANNER,    TABLE,      SCHEDULER_1, SCHEDULER_2,
                                                  EXECUTOR_1, EXECUTOR_2, TABLE};
    return lanes[actor];
}

/* The two ends of a step's arrow; the same twice: it has none. */
static void ends_of(const struct check_step *step, enum lane *from, enum lane *to)
{
    *from = *to = lane_of(step->actor);
    switch ((int)step->action) {
    case CLUSTER_FETCH:
    case CLUSTER_POP:
    case CLUSTER_ACQUIRE:
        *from = TABLE;
        break;
    case CLUSTER_MOVE_CLOCK:
    case CLUSTER_MOVE_CURSOR:
    case CLUSTER_REMOVE:
    case CLUSTER_DELETE:
    case CLUSTER_ACK:
    case CLUSTER_JOIN:
    case CLUSTER_HAND_OUT:
    case CLUSTER_LATER:
    case CHECK_INSERT:
    case CHECK_SCAN:
        *to = TABLE;
        break;
    case CLUSTER_CLAIM:
    case CLUSTER_CLAIM_PART:
    case CLUSTER_CLAIM_OWN:
    case CLUSTER_LOAD:
        *from = TABLE;
        *to = QUEUE;
        break;
    case CLUSTER_PUSH:
        *to = QUEUE;
        break;
    case CLUSTER_TAKE:
    case CLUSTER_LEASE:
        *from = QUEUE;
        break;
    case CLUSTER_CALL:
    case CHECK_ASK_LATER:
        *to = SERVICE;
        break;
    case CHECK_RECOVER:
    case CHECK_OUTRUN:
        *to = QUEUE;
        break;
    default:
        break;
    }
}

static void timers_text(unsigned timers, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s",
                   timers == 3   ? "1, 2"
                   : timers == 1 ? "1"
                   : timers == 2 ? "2"
                                 : "");
}

void chart_step_text(const struct check_step *step, char *text, size_t bytes)
{
    char timers[16];
    timers_text(step->timers, timers, sizeof timers);
    (void)snprintf(text, bytes, "%s: %s%s%s", check_actor_name((enum check_actor)step->actor),
                   check_action_word(step->action), timers[0] != '\0' ? " timer " : "", timers);
}

void chart_write_csv(const struct check_step *run, size_t count, FILE *stream)
{
    (void)fputs("step,second,who,what,timers\n", stream);
    for (size_t i = 0; i < count; i++) {
        char timers[16];
        timers_text(run[i].timers, timers, sizeof timers);
        (void)fprintf(stream, "%zu,%u,%s,%s,%s%s%s\n", i + 1, run[i].second,
                      check_actor_name((enum check_actor)run[i].actor),
                      check_action_word(run[i].action), run[i].timers == 3 ? "\"" : "", timers,
                      run[i].timers == 3 ? "\"" : "");
    }
}

void chart_write(const struct check_step *run, size_t count, const char *title, FILE *stream)
{
    struct sequence_row *rows = memory_new(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        enum lane from;
        enum lane to;
        char timers[16];
        ends_of(&run[i], &from, &to);
        timers_text(run[i].timers, timers, sizeof timers);
        bool tick = run[i].action == CHECK_TICK;
        rows[i] = (struct sequence_row){
            .form = tick                           ? SEQUENCE_LINE
                    : run[i].action == CHECK_CRASH ? SEQUENCE_CRASH
                                                   : SEQUENCE_STEP,
            .from = from,
            .to = to,
            .actor = lane_of(run[i].actor),
        };
        (void)snprintf(rows[i].word, sizeof rows[i].word, "%s%s%s",
                       check_action_word(run[i].action), timers[0] != '\0' ? " " : "", timers);
        if (tick) {
            (void)snprintf(rows[i].left, sizeof rows[i].left, "second %u", run[i].second);
        }
    }
    sequence_write(lane_names, LANES, rows, count, title,
                   "Who did what, from above to below, until a timer is lost.", stream);
    free(rows);
}
