/* The answer for a terminal: sentences, needs, and the five best with a bar each. */
#include "answer.h"

#include "figures.h"
#include "memory.h"
#include "terminal.h"
#include "timerlab.h"
#include "tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIES_NAMED     3u
#define BAR_WIDTH      20
#define NAME_WIDTH     30

/* Counted work up to this multiple of the least, plus NEAR_COUNTS_NS, may have the least time: a
 * unit of work takes about a nanosecond, without the fixed cost of an operation. */
#define NEAR_COUNTS    2
#define NEAR_COUNTS_NS 5

/* Time of a run below which the answer asks for a longer trace: a cold cache and the clock's reading
 * weigh too much. */
#define SHORT_RUN_NS   1e6

/* A difference between wall time and processor time that the answer mentions. */
#define BUSY_SHARE     0.1

/* The name of a row's structure, between two marks. */
static const char *name_of(const struct row *row, const char *code, char text[STRUCTURE_BYTES])
{
    (void)snprintf(text, STRUCTURE_BYTES, "%s%s%s", code, row_structure(row, STRUCTURE), code);
    return text;
}

/* --- sentences ------------------------------------------------------------------------------- */

static void write_kind(const struct answer *answer, FILE *stream)
{
    if (answer->trace.max_late_ticks > 0) {
        (void)fprintf(stream, "%zu structures that fire at most %s late", answer->count,
                      ticks_text((double)answer->trace.max_late_ticks, FIGURE));
    } else {
        (void)fprintf(stream, "%zu exact structures", answer->count);
    }
}

/* The structures of entries [from, to), the first few by name. */
static void write_names(const struct answer *answer, size_t from, size_t to, const char *code,
                        FILE *stream)
{
    size_t count = to - from;
    size_t named = count <= TIES_NAMED ? count : TIES_NAMED;
    for (size_t i = 0; i < named; i++) {
        const char *joint = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        (void)fprintf(stream, "%s%s", joint,
                      name_of(answer->entries[from + i].row, code, STRUCTURE));
    }
    if (named < count) {
        (void)fprintf(stream, " and %zu more", count - named);
    }
}

/* "it is among the fastest (20 ns an operation), tied with b, and needs the least memory". */
static void write_tie(const struct answer *answer, const char *what, const char *code, FILE *stream)
{
    (void)fprintf(stream, " it is among the %s, tied with ", what);
    write_names(answer, 1, answer->tied, code, stream);
    (void)fprintf(stream, ", and %s", answer->reason);
}

/* Why counts may pick another structure than the clock. */
static void write_counted(const struct answer *answer, const char *code, FILE *stream)
{
    size_t near = 1;
    while (near < answer->count &&
           answer->entries[near].ns <= NEAR_COUNTS * answer->entries[0].ns + NEAR_COUNTS_NS) {
        near++;
    }
    (void)fputs("Counts do not include cache misses: ", stream);
    if (near > 1) {
        (void)fputs("the clock may prefer ", stream);
        write_names(answer, 1, near, code, stream);
        (void)fputs(" (", stream);
    }
    (void)fprintf(stream, "without --counts tune measures the time%s.", near > 1 ? ")" : "");
}

static size_t least_runs(const struct answer *answer)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < answer->count; i++) {
        size_t runs = answer->entries[i].row->samples[COL_NS_PER_EVENT].count;
        least = runs < least ? runs : least;
    }
    return least;
}

/* "takes 20 % longer", "takes 7.4 times as long". */
static void write_margin(double ratio, FILE *stream)
{
    if (ratio < 2) {
        (void)fprintf(stream, "takes %.0f %% longer", 100 * (ratio - 1));
    } else {
        (void)fprintf(stream, "takes %s times as long", figure_text(ratio, FIGURE));
    }
}

static void write_pick(const struct answer *answer, const char *code, FILE *stream)
{
    const struct answer_entry *pick = &answer->entries[0];
    const char *ns = figure_text(pick->ns, FIGURE);
    size_t runs = least_runs(answer);
    const char *name = name_of(pick->row, code, STRUCTURE);
    switch (answer->certainty) {
    case ANSWER_NONE:
        break;
    case ANSWER_ALONE:
        (void)fprintf(stream, "%s is the only structure to choose from%s%s%s.", name,
                      answer->trace.by_counts ? "" : ": ", answer->trace.by_counts ? "" : ns,
                      answer->trace.by_counts ? "" : " ns an operation");
        break;
    case ANSWER_COUNTED:
        (void)fprintf(stream, "Take %s: of ", name);
        write_kind(answer, stream);
        if (answer->tied > 1) {
            write_tie(answer, "least busy by counted work", code, stream);
        } else {
            (void)fputs(" it does the least work by the counts", stream);
        }
        (void)fputs(". ", stream);
        write_counted(answer, code, stream);
        break;
    case ANSWER_FEW_RUNS:
        (void)fprintf(stream, "%s took the least time of ", name);
        write_kind(answer, stream);
        (void)fprintf(stream,
                      " (%s ns an operation), but too few runs to be sure (%zu): use --runs 5.", ns,
                      runs);
        break;
    case ANSWER_NOISY:
        (void)fprintf(stream, "Take %s (%s ns an operation): ", name, ns);
        (void)fputs(answer->tied > 1 ? "of " : "it measured the least time of ", stream);
        write_kind(answer, stream);
        if (answer->tied > 1) {
            write_tie(answer, "fastest", code, stream);
        }
        (void)fprintf(stream, ", but the %zu runs vary too much to exclude %s", runs,
                      name_of(answer->not_excluded, code, STRUCTURE));
        (void)fprintf(stream, " (%s ns): use a quiet machine or more runs.",
                      figure_text(row_value(answer->not_excluded, COL_NS_PER_EVENT), FIGURE));
        break;
    case ANSWER_TIED:
        (void)fprintf(stream, "Take %s (%s ns an operation): of ", name, ns);
        write_kind(answer, stream);
        write_tie(answer, "fastest", code, stream);
        (void)fprintf(stream, ": %zu runs show no difference.", runs);
        break;
    case ANSWER_SURE:
        (void)fprintf(stream, "Take %s: the fastest of ", name);
        write_kind(answer, stream);
        (void)fprintf(stream, ", %s ns an operation; %s ", ns,
                      name_of(answer->entries[1].row, code, STRUCTURE));
        write_margin(answer->entries[1].ns / pick->ns, stream);
        (void)fprintf(stream, ". Sure: %zu runs.", runs);
        break;
    }
    (void)fputc('\n', stream);
}

/* "0.83 %", "less than 0.01 %". */
static const char *share_text(double share, char text[FIGURE_BYTES])
{
    if (share < 0.0001) {
        return "less than 0.01 %";
    }
    (void)snprintf(text, FIGURE_BYTES, share < 1 ? "%.2g %%" : "%.0f %%", 100 * share);
    return text;
}

static const struct answer_entry *slowest(const struct answer *answer)
{
    const struct answer_entry *slowest = &answer->entries[0];
    for (size_t i = 1; i < answer->count; i++) {
        if (answer->entries[i].ns > slowest->ns) {
            slowest = &answer->entries[i];
        }
    }
    return slowest;
}

/* Write the cost per second at the trace's own rate. */
static void write_cost(const struct answer *answer, const char *code, FILE *stream)
{
    const struct answer_entry *pick = &answer->entries[0];
    const struct answer_entry *last = slowest(answer);
    if (isnan(answer->rate) || answer->trace.by_counts) {
        return;
    }
    (void)fprintf(stream, "At the trace's rate, %s operations a second, it needs %s of one core",
                  rate_text(answer->rate, FIGURE), share_text(pick->core_share, FIGURE));
    if (last == pick) {
        (void)fputs(".\n", stream);
        return;
    }
    (void)fprintf(stream, "; %s, the slowest, %s.", name_of(last->row, code, STRUCTURE),
                  share_text(last->core_share, FIGURE));
    if (last->core_share - pick->core_share < ANSWER_CORE_SHARE_MIN) {
        (void)fputs(" Speed does not matter here: choose by memory, wakeups or longest pause.",
                    stream);
    }
    (void)fputc('\n', stream);
}

static void write_reservations(const struct answer *answer, const char *code, FILE *stream)
{
    if (answer->faster_late != NULL) {
        char undone[FIRING_BYTES];
        struct firing firing = firing_of_row(answer->faster_late);
        bool any = answer->count > 0;
        const struct firing_frame frame = {
            .tick_ns = NAN,
            .exact_fired = any ? row_value(answer->entries[0].row, COL_FIRED) : NAN};
        (void)firing_undone_words(&firing, &frame, undone);
        (void)fprintf(stream, "%s %s takes %s %s%s%s%s.\n",
                      any ? "Faster, but late or early:" : "All fire late or early; the fastest,",
                      name_of(answer->faster_late, code, STRUCTURE),
                      figure_text(row_value(answer->faster_late, COL_NS_PER_EVENT), FIGURE),
                      answer->trace.by_counts ? "by the counts" : "ns",
                      undone[0] != '\0' ? " (" : "", undone, undone[0] != '\0' ? ")" : "");
    }
    double run_ns =
        answer->count > 0 && !answer->trace.by_counts
            ? answer->entries[0].ns * row_value(answer->entries[0].row, COL_WINDOW_EVENTS)
            : NAN;
    if (run_ns < SHORT_RUN_NS) {
        (void)fprintf(stream, "A run lasts only %s: a longer trace gives steadier times.\n",
                      plain_duration_text(run_ns, FIGURE));
    }
    if (answer->wall_excess > BUSY_SHARE) {
        (void)fprintf(stream,
                      "The machine was busy: wall time exceeds processor time by %.0f %%.\n",
                      100 * answer->wall_excess);
    }
}

/* "3 failed, 2 cannot take this trace, 1 fires late or early: not ranked." */
static void write_omitted(const struct answer *answer, FILE *stream)
{
    const struct {
        unsigned count;
        const char *one;
        const char *more;
    } omitted[] = {
        {answer->failed, "failed", "failed"},
        {answer->unsupported, "cannot take this trace", "cannot take this trace"},
        {answer->not_punctual, "fires late or early", "fire late or early"},
        {answer->count > 0 ? answer->untimed : 0, "was not timed", "were not timed"},
    };
    const char *joint = "";
    for (size_t i = 0; i < sizeof omitted / sizeof omitted[0]; i++) {
        if (omitted[i].count > 0) {
            (void)fprintf(stream, "%s%u %s", joint, omitted[i].count,
                          omitted[i].count == 1 ? omitted[i].one : omitted[i].more);
            joint = ", ";
        }
    }
    (void)fputs(joint[0] != '\0' ? ": not ranked.\n" : "", stream);
}

/* --- needs ----------------------------------------------------------------------------------- */

static const char *const need_words[ANSWER_NEEDS] = {
    [ANSWER_UNBOUNDED] = "deadlines without a bound",
    [ANSWER_SLEEP] = "sleep until the next expiry",
    [ANSWER_ORDER] = "order within a tick",
    [ANSWER_MEMORY] = "least memory",
    [ANSWER_WAKEUPS] = "fewest wakeups",
    [ANSWER_PAUSE] = "shortest longest pause",
};

/* The figure that a need goes by. */
static const char *need_figure(const struct answer *answer, enum answer_need need,
                               const struct row *row, char text[FIGURE_BYTES])
{
    switch (need) {
    case ANSWER_MEMORY:
        return size_text(row_value(row, COL_BYTES_PEAK), text);
    case ANSWER_PAUSE:
        return plain_duration_text(row_value(row, COL_STALL), text);
    case ANSWER_WAKEUPS:
        if (!(answer->trace.window_seconds > 0)) {
            return grouped_text(row_value(row, COL_WAKEUPS), text);
        }
        (void)snprintf(
            text, FIGURE_BYTES, "%s/s",
            figure_text(row_value(row, COL_WAKEUPS) / answer->trace.window_seconds, FIGURE));
        return text;
    default:
        (void)snprintf(text, FIGURE_BYTES, "%s%s",
                       figure_text(row_value(row, COL_NS_PER_EVENT), FIGURE),
                       answer->trace.by_counts ? "" : " ns");
        return text;
    }
}

const char *answer_need_words(enum answer_need need)
{
    return need_words[need];
}

void answer_write_need(const struct answer *answer, enum answer_need need, const char *code,
                       FILE *stream)
{
    const struct row *row = answer->for_need[need];
    (void)fprintf(stream, "%s, %s instead of %s", name_of(row, code, STRUCTURE),
                  need_figure(answer, need, row, FIGURE),
                  need_figure(answer, need, answer->entries[0].row, FIGURE));
}

/* --- the best -------------------------------------------------------------------------------- */

static void write_entries(const struct answer *answer, FILE *stream)
{
    size_t shown = answer->count < ANSWER_ENTRIES_SHOWN ? answer->count : ANSWER_ENTRIES_SHOWN;
    double most_ns = 0;
    int width = 9;
    bool pauses = false;
    for (size_t i = 0; i < shown; i++) {
        int length = (int)strlen(name_of(answer->entries[i].row, "", STRUCTURE));
        width = length > width ? length : width;
        most_ns = fmax(most_ns, answer->entries[i].ns);
        pauses = pauses || !isnan(row_value(answer->entries[i].row, COL_STALL));
    }
    width = width < NAME_WIDTH ? width : NAME_WIDTH;
    (void)fprintf(stream, "\n  %-*s  %8s  %-*s  %8s%s\n", width, "structure",
                  answer->trace.by_counts ? "work/op" : "ns/op", BAR_WIDTH, "", "memory",
                  pauses ? "  longest pause" : "");
    for (size_t i = 0; i < shown; i++) {
        const struct row *row = answer->entries[i].row;
        int bar = (int)lround(BAR_WIDTH * answer->entries[i].ns / most_ns);
        bool hidden = (row->capabilities & TL_CAP_OWN_MEMORY) != 0;
        (void)fprintf(stream, "  %-*s  %8s  %-*.*s  %8s", width, name_of(row, "", STRUCTURE),
                      figure_text(answer->entries[i].ns, FIGURE), BAR_WIDTH, bar > 0 ? bar : 1,
                      "####################",
                      hidden ? "-" : size_text(row_value(row, COL_BYTES_PEAK), FIGURE));
        if (pauses) {
            (void)fprintf(stream, "  %13s", plain_duration_text(row_value(row, COL_STALL), FIGURE));
        }
        (void)fputc('\n', stream);
    }
}

void answer_write_pick(const struct answer *answer, const char *code, FILE *stream)
{
    if (answer->count > 0) {
        write_pick(answer, code, stream);
        write_cost(answer, code, stream);
    } else {
        (void)fputs(answer->idle_window   ? "checked, not timed: no operation is in its timed "
                                            "window. Record or simulate more seconds.\n"
                    : answer->untimed > 0 ? "checked, not timed.\n"
                                          : "no structure can be recommended.\n",
                    stream);
    }
}

void answer_write_notes(const struct answer *answer, const char *code, FILE *stream)
{
    write_reservations(answer, code, stream);
    write_omitted(answer, stream);
}

void answer_write(const struct answer *answer, size_t width, FILE *stream)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *sentences = memory_stream(&text, &bytes);
    (void)fprintf(sentences, "%s: ", answer->trace.name);
    answer_write_pick(answer, "", sentences);
    answer_write_notes(answer, "", sentences);
    memory_stream_close(sentences);
    text_wrap(stream, text, width, 0, 0);
    free(text);
    for (enum answer_need need = 0; need < ANSWER_NEEDS; need++) {
        if (answer->for_need[need] != NULL) {
            (void)fprintf(stream, "  %-27s ", need_words[need]);
            answer_write_need(answer, need, "", stream);
            (void)fputc('\n', stream);
        }
    }
    if (answer->count > 0) {
        write_entries(answer, stream);
    }
}

void answer_print(const struct results *results, const struct answer_trace *trace, FILE *stream)
{
    struct answer answer;
    size_t width = terminal_width(stream);
    answer_make(results, trace, &answer);
    answer_write(&answer, width > 0 ? width : ANSWER_WIDTH, stream);
    answer_free(&answer);
}
