#include "check_crash.h"

#include "kit_crash.h"
#include "memory.h"
#include "near_program.h"
#include "progress.h"
#include "terminal.h"
#include "text_table.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Trials of one policy: the first points, random ones, and losses of power. */
#define POINTS     1000.0
#define RANDOM     100.0
#define IMAGES     60.0

/* Trials of a history with a long log, and its operations. */
#define LONG       5.0
#define LONG_STEPS 300000u

void check_crash_load(int argc, char **argv)
{
    static char program[] = "timerlab";
    static char verb[] = "check";
    static const char *const places[] = {"sim", TL_SHIM_INSTALLED};
    static const char loaded[] = "TIMERLAB_CRASH_SHIM";
    char shim[PATH_MAX];
    struct error error;
    if (crash_is_shimmed() || getenv(loaded) != NULL ||
        !near_program_find(places, "timerlab-crash.so", shim, &error)) {
        return;
    }
    if (setenv(loaded, shim, 1) != 0 || setenv("LD_PRELOAD", shim, 1) != 0) {
        memory_end();
    }
    char **words = memory_new((size_t)argc + 2, sizeof *words);
    words[0] = program;
    words[1] = verb;
    memcpy((void *)(words + 2), (const void *)(argv + 1), ((size_t)argc - 1) * sizeof *words);
    (void)execv("/proc/self/exe", words); /* returns only if it fails */
    free((void *)words);
}

/* A number that is small enough for much to happen in a short history. */
static void make_small(const struct tl_algo *algo, void *options, const char *name, uint64_t value)
{
    const struct tl_option *option = tl_option_find(algo->options, name);
    if (option != NULL && tl_option_accepts(option, value)) {
        tl_option_set_number(option, options, value);
    }
}

/* The request and its results so far. */
struct crash_work {
    uint64_t seed;
    double share;
    size_t *faults;
    struct text_table table;
    struct text_page page;
};

/* The trial, the fault, the timer's history, and a command that repeats it. */
static void print_fault(const struct tl_algo *algo, const char *options,
                        const struct crash_work *work, struct crash_report *report)
{
    struct wrapped line;
    (void)fprintf(wrapped_begin(&line, stdout, 6), "    with %s: %s: %s\n",
                  options[0] != '\0' ? options : "the defaults", report->trial, report->message);
    wrapped_end(&line);
    for (char *at = strtok(report->history, "\n"); at != NULL; at = strtok(NULL, "\n")) {
        (void)printf("        %s\n", at);
    }
    (void)printf("    again: timerlab check --crash -a '%s%s%s'", algo->name,
                 options[0] != '\0' ? ":" : "", options);
    check_print_seed(work->seed);
    if (work->share != 1) {
        (void)printf(" --crash-share %g", work->share);
    }
    (void)printf(" (and --plugin, if it is one)\n");
}

static bool crash_one(const struct contender *contender, const void *options,
                      struct crash_plan plan, struct crash_work *work, struct error *error)
{
    const struct tl_algo *algo = contender->timed;
    struct crash_report report;
    struct progress progress;
    progress_begin(&progress, algo->name, "recoveries", 0);
    plan.progress = progress_follow;
    plan.progress_ctx = &progress;
    bool done = crash_check(algo, options, &plan, &report, error);
    progress_end(&progress);
    if (!done) {
        return false;
    }
    char text[200];
    (void)tl_options_format(algo, options, false, text, sizeof text);
    struct text_table *table = &work->table;
    text_table_add(table, "%s", algo->name);
    text_table_add(table, "%s", report.fault ? "FAULT" : "ok");
    const uint64_t counts[] = {report.kills, report.images, report.failures, report.timers,
                               report.repeats};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        text_table_add(table, "%" PRIu64, counts[i]);
    }
    text_table_add(table, "%s", text);
    text_table_write_last(table, &work->page);
    if (report.fault) {
        print_fault(algo, text, work, &report);
    }
    *work->faults += report.fault;
    return true;
}

/* The words of an option in turn; one turn if there is none of that name. */
static size_t words_of(const struct tl_option *option)
{
    size_t words = 0;
    while (option != NULL && option->choices != NULL && option->choices[words].word != NULL) {
        words++;
    }
    return words;
}

static bool crash_all(const struct contender *contender, struct crash_work *work,
                      struct error *error)
{
    const struct tl_algo *algo = contender->timed;
    TL_OPTION_VALUES(options);
    memcpy(options, contender->options, sizeof options);
    const struct crash_plan plan = {.seed = work->seed,
                                    .points = (uint32_t)(POINTS * work->share),
                                    .random = (uint32_t)(RANDOM * work->share),
                                    .steps = CRASH_STEPS,
                                    .images = (uint32_t)(IMAGES * work->share)};
    if (contender->option_text[0] != '\0') {
        return crash_one(contender, options, plan, work, error);
    }
    make_small(algo, options, "group", 7);
    make_small(algo, options, "window", 3);
    make_small(algo, options, "least", 100);
    const struct tl_option *sync = tl_option_find(algo->options, "sync");
    const struct tl_option *delivery = tl_option_find(algo->options, "delivery");
    size_t syncs = words_of(sync);
    size_t deliveries = words_of(delivery);
    bool done = true;
    for (size_t i = 0; i < (syncs > 0 ? syncs : 1) && done; i++) {
        for (size_t k = 0; k < (deliveries > 0 ? deliveries : 1) && done; k++) {
            if (syncs > 0) {
                tl_option_set_number(sync, options, sync->choices[i].value);
            }
            if (deliveries > 0) {
                tl_option_set_number(delivery, options, delivery->choices[k].value);
            }
            done = crash_one(contender, options, plan, work, error);
        }
    }
    /* With its defaults, the log grows beyond a megabyte. */
    const struct crash_plan long_plan = {
        .seed = work->seed, .random = (uint32_t)(LONG * work->share + 0.99), .steps = LONG_STEPS};
    return done && crash_one(contender, contender->options, long_plan, work, error);
}

/* The headings, and for the layout a row as wide as most. */
static void print_head(struct crash_work *work)
{
    static const char *const headings[] = {"structure", "result", "kills",   "images",
                                           "failures",  "timers", "repeats", "options"};
    struct text_table *table = &work->table;
    work->page = text_page_begin(stdout);
    table->columns = sizeof headings / sizeof headings[0];
    for (size_t i = 0; i < table->columns; i++) {
        table->right[i] = i > 1 && i < table->columns - 1;
        text_table_add(table, "%s", headings[i]);
    }
    text_table_add(table, "durable(chunk-wheel)");
    text_table_add(table, "FAULT");
    for (size_t i = 2; i + 1 < table->columns; i++) {
        text_table_add(table, "100000");
    }
    text_table_add(table, "sync=always:delivery=at-most:group=7:window=3:least=100");
    text_table_write_rows(table, 0, 1, &work->page);
}

void check_print_seed(uint64_t seed)
{
    if (seed != CHECK_SEED) {
        (void)printf(" --seed %" PRIu64, seed);
    }
}

bool check_crash(const struct contender_list *contenders, uint64_t seed, double share,
                 size_t *faults, struct error *error)
{
    for (size_t i = 0; i < contenders->count; i++) {
        const struct tl_algo *algo = contenders->items[i].timed;
        if ((algo->capabilities & TL_CAP_DURABLE) == 0) {
            return error_set(error, "%s is not durable, and has nothing to lose; durable(%s) is",
                             algo->name, algo->name);
        }
    }
    if (!crash_is_shimmed()) {
        (void)fprintf(stderr, "timerlab check: without timerlab-crash.so, which is not where it is "
                              "built or installed, power is not cut and no call fails\n");
    }
    struct crash_work work = {.seed = seed, .share = share, .faults = faults};
    print_head(&work);
    bool done = true;
    for (size_t i = 0; i < contenders->count && done; i++) {
        done = crash_all(&contenders->items[i], &work, error);
        (void)fflush(stdout);
    }
    text_table_free(&work.table);
    text_page_end(&work.page);
    return done;
}
