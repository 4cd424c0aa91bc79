/*
 * One column for each process, the table, the queue and the user's service; one row a step. An
 * arrow goes from who does something to whom it is done to, and the word stands on it.
 */
#include "chart.h"

#include "drawing.h"

#include <string.h>

#define MARGIN       24.0
#define LANE_WIDTH   128.0
#define HEAD_HEIGHT  64.0
#define ROW_HEIGHT   30.0
#define FOOT_HEIGHT  20.0
#define SECOND_WIDTH 74.0
#define INK          "fill=\"#111111\""
#define DIM          "fill=\"#444444\""
#define LINE         "stroke=\"#0072b2\" stroke-width=\"1.6\""
#define BAD          "stroke=\"#d55e00\" stroke-width=\"2.4\""

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
    case CLUSTER_PRELOAD:
        *from = TABLE;
        break;
    case CLUSTER_MOVE_CLOCK:
    case CLUSTER_MOVE_CURSOR:
    case CLUSTER_REMOVE:
    case CLUSTER_DELETE:
    case CLUSTER_ACK:
    case CLUSTER_TELL:
    case CHECK_INSERT:
    case CHECK_SCAN:
        *to = TABLE;
        break;
    case CLUSTER_CLAIM:
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

static double lane_x(enum lane lane)
{
    return MARGIN + SECOND_WIDTH + LANE_WIDTH * ((double)lane + 0.5);
}

static void draw_arrow(struct drawing *drawing, double from, double to, double y)
{
    double back = to > from ? -7 : 7;
    drawing_line(drawing, from, y, to, y, LINE);
    drawing_line(drawing, to, y, to + back, y - 4, LINE);
    drawing_line(drawing, to, y, to + back, y + 4, LINE);
}

static void draw_step(struct drawing *drawing, const struct check_step *step, double y)
{
    enum lane from;
    enum lane to;
    char timers[16];
    char word[64];
    ends_of(step, &from, &to);
    timers_text(step->timers, timers, sizeof timers);
    (void)snprintf(word, sizeof word, "%s%s%s", check_action_word(step->action),
                   timers[0] != '\0' ? " " : "", timers);
    double x = lane_x(from);
    if (step->action == CHECK_CRASH) {
        drawing_line(drawing, x - 6, y - 6, x + 6, y + 6, BAD);
        drawing_line(drawing, x - 6, y + 6, x + 6, y - 6, BAD);
    } else if (from == to) {
        drawing_dot(drawing, x, y, 4, "fill=\"#0072b2\"");
    } else {
        draw_arrow(drawing, x, lane_x(to), y);
    }
    /* Beside its own column where there is no arrow, else on it, at the doer's end. */
    double actor = lane_x(lane_of(step->actor));
    bool leftward = from != to && (lane_x(to) < actor || x < actor);
    drawing_text(drawing, actor + (leftward ? -9 : 9), y - 5,
                 leftward ? "font-size=\"12\" text-anchor=\"end\" " INK : "font-size=\"12\" " INK,
                 word);
}

bool chart_write(const struct check_step *run, size_t count, const char *title, FILE *stream,
                 struct error *error)
{
    struct drawing drawing;
    if (!drawing_open(&drawing, error)) {
        return false;
    }
    double height = HEAD_HEIGHT + ROW_HEIGHT * (double)count + FOOT_HEIGHT;
    double width = 2 * MARGIN + SECOND_WIDTH + LANE_WIDTH * LANES;
    for (int lane = 0; lane < LANES; lane++) {
        double x = lane_x((enum lane)lane);
        drawing_box(&drawing, x - LANE_WIDTH / 2 + 8, 16, LANE_WIDTH - 16, 26, 5,
                    "fill=\"#cfe5f3\" stroke=\"#0072b2\"");
        drawing_text(&drawing, x, 34, "font-size=\"13\" text-anchor=\"middle\" " INK,
                     lane_names[lane]);
        drawing_line(&drawing, x, 42, x, height - FOOT_HEIGHT / 2,
                     "stroke=\"#999999\" stroke-dasharray=\"3 3\"");
    }
    for (size_t i = 0; i < count; i++) {
        double y = HEAD_HEIGHT + ROW_HEIGHT * ((double)i + 0.5);
        if (run[i].action == CHECK_TICK) {
            char text[32];
            (void)snprintf(text, sizeof text, "second %u", run[i].second);
            drawing_line(&drawing, MARGIN, y, width - MARGIN, y, "stroke=\"#cccccc\"");
            drawing_text(&drawing, MARGIN, y - 5, "font-size=\"12\" " DIM, text);
        } else {
            draw_step(&drawing, &run[i], y);
        }
    }
    bool done =
        drawing_write(&drawing, width, height, title,
                      "Who did what, from above to below, until a timer is lost.", stream, error);
    drawing_close(&drawing);
    return done;
}
