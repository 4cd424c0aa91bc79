/*
 * The conformance kit detects faults, by the case that is about them, and reports them as operations.
 * Prints the table of detected faults, and the operations that are left of some.
 */
#include "kit.h"
#include "kit_guard.h"
#include "kit_script.h"

#include "made.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What hangs here hangs soon. */
static struct kit_limits short_limits(void)
{
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 2;
    return limits;
}

static void every_wrong_structure_is_caught_by_its_case(void **state)
{
    (void)state;
    struct kit_limits limits = short_limits();
    unsigned wrong = 0;
    unsigned missed = 0;
    print_message("%-32s %-22s %-10s %s\n", "wrong structure", "case", "fault", "message");
    for (size_t i = 0; i < MADE_COUNT; i++) {
        if (is_right(made[i])) {
            continue;
        }
        char why[256];
        assert_int_equal(tl_algo_validate(made[i], why, sizeof why), TL_OK);
        const struct kit_case *contract_case = kit_case_find(made[i]->origin);
        if (contract_case == NULL) {
            fail_msg("%s names the case %s, which there is not", made[i]->name, made[i]->origin);
        }
        struct kit_target target = kit_target_of(made[i], made[i]);
        /* Faults from the 2^20th timer on. */
        target.large = strncmp(made[i]->name, "million-", 8) == 0;
        struct kit_verdict verdict;
        kit_check_case(&target, contract_case, &limits, &verdict, NULL);
        wrong++;
        bool caught = verdict.result == KIT_FAULT && verdict.fault != FAULT_HARNESS;
        missed += !caught;
        print_message("%-32s %-22s %-10s %s\n", made[i]->name, contract_case->name,
                      caught ? fault_word(verdict.fault) : "MISSED", verdict.message);
    }
    assert_int_equal(missed, 0);
    assert_true(wrong >= 25);
}

/* Threads are interrupted by design, not by chance. */
static void interrupted_threads_show_the_same_fault_each_time(void **state)
{
    (void)state;
    static const char *const names[] = {"mailbox-stop-against-expiry", "mailbox-unlocked-count"};
    struct kit_limits limits = kit_limits_default();
    for (size_t i = 0; i < 2; i++) {
        struct kit_target target = kit_target_of(made_called(names[i]), made_called(names[i]));
        struct kit_verdict verdicts[2];
        for (size_t k = 0; k < 2; k++) {
            kit_check_case(&target, kit_case_find("concurrent-steps"), &limits, &verdicts[k], NULL);
            assert_int_equal(verdicts[k].result, KIT_FAULT);
        }
        assert_string_equal(verdicts[0].message, verdicts[1].message);
        assert_non_null(strstr(verdicts[0].message, "was interrupted after"));
    }
}

/* A fault in one sequence of four operations: no script has it, nor the fuzzer in its time. */
static void only_all_small_sequences_find_the_one(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("heap-forgets-in-one-sequence");
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = short_limits();
    limits.patience_seconds = 0.1;
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct kit_verdict verdict;
        kit_check_case(&target, &cases[i], &limits, &verdict, NULL);
        bool found = verdict.result == KIT_FAULT;
        if (found != (strcmp(cases[i].name, "small-cases") == 0)) {
            fail_msg("%s: %s", cases[i].name, found ? verdict.message : "nothing found");
        }
    }
    struct kit_fuzz_plan plan = {.seed = 1, .operations = 100000};
    struct kit_verdict verdict;
    struct kit_trace trace;
    kit_fuzz(&target, &plan, &limits, &verdict, &trace);
    assert_int_equal(verdict.result, KIT_OK);
    kit_trace_release(&trace);
}

/* Some of each base, by cases that do little and cases that do much: all of them would take
 * minutes, and show no more. */
static void what_a_case_finds_is_told_in_few_operations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t most;
    } examples[] = {
        {"heap-never-sifts-up", 30},      {"heap-restart-keeps-place", 4},
        {"heap-fires-moved", 3},          {"heap-self-restart-keeps-turn", 6},
        {"heap-shares-its-clock", 5},     {"heap-leaks-on-failure", 1},
        {"heap-frees-twice", 4},          {"wheel-keeps-budget-end", 8},
        {"wheel-skips-first-of-slot", 2}, {"cascade-next-forgets", 4},
        {"coarse-rounds-down", 1},        {"shown-walk-two-hands", 1},
        {"many-index-of-16-bits", 1},     {"many-stale-generation-of-16-bits", 4},
    };
    struct kit_limits limits = kit_limits_default();
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct tl_algo *algo = made_called(examples[i].name);
        struct kit_target target = kit_target_of(algo, algo);
        struct kit_verdict verdict;
        struct kit_trace trace;
        kit_check_case(&target, kit_case_find(algo->origin), &limits, &verdict, &trace);
        assert_int_equal(verdict.result, KIT_FAULT);
        assert_true(verdict.repeats);
        print_message("%-32s %zu operations\n", algo->name, trace.count);
        if (trace.count > examples[i].most) {
            kit_trace_write(&trace, algo, stderr);
            fail_msg("%s: %zu operations left", algo->name, trace.count);
        }
        kit_trace_release(&trace);
    }
}

static void what_fires_nothing_is_skipped(void **state)
{
    (void)state;
    const struct tl_entry *entry = tl_registry_find("null");
    struct kit_target target = kit_target_of(entry->timed, entry->counted);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("deadline-now"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_SKIPPED);
    assert_non_null(strstr(verdict.message, "fires nothing"));
}

static void promises_not_made_are_not_checked(void **state)
{
    (void)state;
    const struct tl_algo *wheel = made_called("right-wheel");
    struct kit_target target = kit_target_of(wheel, wheel);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("fifo"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_SKIPPED);
    assert_non_null(strstr(verdict.message, "`fifo`"));
    assert_null(kit_case_find("no-such-case"));
}

static void an_unusable_descriptor_is_named(void **state)
{
    (void)state;
    struct tl_algo algo = *made_called("right-heap");
    algo.advance = NULL;
    struct kit_target target = {.algo = &algo, .counted = &algo};
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("create"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_FAULT);
    assert_int_equal(verdict.fault, FAULT_DESCRIPTOR);
    assert_non_null(strstr(verdict.message, "missing hook: advance"));
}

static void the_case_cost_says_how_far_it_went(void **state)
{
    (void)state;
    struct tl_algo silent = *made_called("right-shown");
    silent.counters = NULL;
    const struct {
        const struct tl_algo *algo;
        const char *note;
    } examples[] = {
        {made_called("right-shown"), "its cost was measured with up to 65536 timers"},
        {&silent,
         "its cost was measured with up to 65536 timers, in instructions only: it counts no "
         "work"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct kit_target target = kit_target_of(examples[i].algo, examples[i].algo);
        struct kit_limits limits = kit_limits_default();
        limits.processor_seconds = 60;
        limits.patience_seconds = 60; /* so that all sizes are reached on any machine */
        struct kit_verdict verdict;
        kit_check_case(&target, kit_case_find("cost"), &limits, &verdict, NULL);
        assert_string_equal(verdict.message, examples[i].note);
        assert_int_equal(verdict.result, KIT_OK);
    }
}

static void a_build_that_counts_and_does_otherwise_is_noticed(void **state)
{
    (void)state;
    /* Two that are right, and fire timers of one tick in different orders. */
    struct kit_target target =
        kit_target_of(made_called("right-wheel"), made_called("right-shown"));
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("undisturbed"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_FAULT);
    assert_int_equal(verdict.fault, FAULT_RANDOM);
    assert_non_null(strstr(verdict.message, "in the build without counters"));
}

/* --- fuzzing, shrinking, replaying ----------------------------------------------------------- */

/* Fuzzes until there is a fault, which must be, and returns it with the shrunk trace. */
static enum fault_kind find_fault(const struct tl_algo *algo, struct kit_trace *trace)
{
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_fuzz_plan plan = {.seed = 1, .operations = 2000000};
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_fuzz(&target, &plan, &limits, &verdict, trace);
    if (verdict.result != KIT_FAULT || verdict.fault == FAULT_HARNESS) {
        fail_msg("%s: nothing found: %s", algo->name, verdict.message);
    }
    assert_true(trace->count > 0);
    assert_true(trace->seed >= 1);
    return verdict.fault;
}

/* Return the text of a trace, to be freed. */
static char *text_of(const struct kit_trace *trace, const struct tl_algo *algo)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    kit_trace_write(trace, algo, stream);
    (void)fclose(stream);
    return text;
}

static struct kit_trace trace_from(const char *text, const struct tl_algo *algo)
{
    FILE *stream = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(stream);
    struct kit_trace trace;
    struct error error;
    if (!kit_trace_read(&trace, algo, stream, "text", &error)) {
        fail_msg("%s", error.text);
    }
    (void)fclose(stream);
    return trace;
}

static void a_fault_is_shrunk_and_replayed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t most; /* operations in the shrunk trace */
    } examples[] = {
        {"cascade-loses-slot-start", 4},
        {"heap-restart-keeps-place", 6},
        {"heap-fires-stopped", 5},
        {"heap-stale-entry-fires", 5},
        {"heap-crashes", 1},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct tl_algo *algo = made_called(examples[i].name);
        struct kit_target target = kit_target_of(algo, algo);
        struct kit_trace trace;
        enum fault_kind fault = find_fault(algo, &trace);
        if (trace.count > examples[i].most) {
            kit_trace_write(&trace, algo, stderr);
            fail_msg("%s: %zu operations left", algo->name, trace.count);
        }

        /* To text and back, and once more through the structure. */
        char *text = text_of(&trace, algo);
        struct kit_trace again = trace_from(text, algo);
        assert_int_equal(again.count, trace.count);
        struct kit_limits limits = kit_limits_default();
        struct kit_verdict verdict;
        kit_replay(&target, &again, &limits, &verdict);
        assert_int_equal(verdict.result, KIT_FAULT);
        assert_int_equal(verdict.fault, fault);

        /* The structure that is right has no trouble with it. */
        const struct tl_algo *right = made_called("right-heap");
        struct kit_target other = kit_target_of(right, right);
        if (strncmp(algo->name, "heap-", 5) == 0) {
            kit_replay(&other, &again, &limits, &verdict);
            assert_int_equal(verdict.result, KIT_OK);
        }
        free(text);
        kit_trace_release(&trace);
        kit_trace_release(&again);
    }
}

/* Of all time one turn of the wheel is left, and a tick: not two turns. */
static void start_at_last(struct kit_run *run)
{
    struct kit_subject subject;
    uint64_t turn_ticks = tl_option_number(&run->algo->options[0], run->options);
    if (script_open(run, &subject, 1, TL_DEADLINE_MAX - 1 - turn_ticks)) {
        script_start(&subject, 0, turn_ticks);
        script_advance(&subject, TL_DEADLINE_MAX - 1);
        script_close(&subject);
    }
}

/* A timer that is lost at the end of time is late at its beginning, and reported as late. */
static void late_and_lost_are_one_fault(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("wheel-edge-one-turn-late");
    const struct kit_case late = {
        .name = "late", .group = "time", .flags = KIT_ONCE, .function = start_at_last};
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    struct kit_trace trace;
    kit_check_case(&target, &late, &limits, &verdict, NULL);
    assert_int_equal(verdict.fault, FAULT_LOST);
    kit_check_case(&target, &late, &limits, &verdict, &trace);
    assert_int_equal(verdict.fault, FAULT_LATE);
    assert_int_equal(trace.sessions[0].now, 0);
    assert_int_equal(trace.count, 1);
    kit_trace_release(&trace);
}

/* The reduced operations show it: without a callback there is no fault. */
static void the_fuzzer_finds_what_is_wrong_only_inside_callbacks(void **state)
{
    (void)state;
    static const char *const names[] = {
        "heap-endless-callbacks",       "heap-fires-stopped",       "heap-fires-moved",
        "heap-forgets-self-restart",    "wheel-keeps-next-pointer", "wheel-keeps-budget-end",
        "heap-self-restart-keeps-turn", "wheel-files-under-hand",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct tl_algo *algo = made_called(names[i]);
        struct kit_trace trace;
        (void)find_fault(algo, &trace);
        size_t inside = 0;
        for (size_t k = 0; k < trace.count; k++) {
            inside +=
                trace.ops[k].kind == KIT_OP_WHEN_START || trace.ops[k].kind == KIT_OP_WHEN_STOP;
        }
        if (inside == 0 || trace.count > 10) {
            kit_trace_write(&trace, algo, stderr);
            fail_msg("%s: %zu operations left, %zu of them in callbacks", algo->name, trace.count,
                     inside);
        }
        kit_trace_release(&trace);
    }
}

static enum fault_kind fault_of(const struct tl_algo *algo, const char *operations)
{
    char text[200] = "create capacity 4 now 0 max-delay 0\n";
    assert_true(strlen(text) + strlen(operations) < sizeof text);
    (void)strcat(text, operations);
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_trace trace = trace_from(text, algo);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_replay(&target, &trace, &limits, &verdict);
    kit_trace_release(&trace);
    return verdict.fault;
}

/* By the fewest operations that are wrong in no other way. */
static void each_rule_counts_by_itself(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *operations;
        enum fault_kind fault;
    } examples[] = {
        {"heap-endless-callbacks", "start 0 in 1\nwhen 0 fires start 0 in 0\nadvance by 1\n",
         FAULT_REENTRY},
        {"heap-ignores-budget", "start 0-1 in 1\nadvance by 1 budget 1\n", FAULT_BUDGET},
        {"heap-next-never-grows", "start 0 in 5\nadvance by 0\n", FAULT_NEXT},
        {"heap-ties-unbroken", "start 0-2 in 1\nadvance by 1 budget 1\nadvance by 0 budget 1\n",
         FAULT_MISORDERED},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct tl_algo *right = made_called("right-heap");
        assert_int_equal(fault_of(made_called(examples[i].name), examples[i].operations),
                         examples[i].fault);
        assert_int_equal(fault_of(right, examples[i].operations), FAULT_NONE);
    }
}

/* Offsets of the id and the tick that a callback gets, and of the tick of an advance. */
static uint32_t other_id;
static int64_t other_tick;
static uint64_t ahead_ticks;

/* The callback of an advance. */
struct told {
    tl_fire_fn fire;
    void *ctx;
};

static void tell_fired(void *ctx, uint32_t id, uint64_t now)
{
    const struct told *told = ctx;
    told->fire(told->ctx, id + other_id, now + (uint64_t)other_tick);
}

static uint64_t advance_telling(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct told told = {.fire = fire, .ctx = ctx};
    return made_called("right-heap")->advance(self, now + ahead_ticks, budget, tell_fired, &told);
}

static void callbacks_are_told_their_timer_and_tick(void **state)
{
    (void)state;
    static const char last_of_four[] = "start 3 in 5\nadvance by 7\n";
    struct tl_algo algo = *made_called("right-heap");
    algo.advance = advance_telling;
    for (other_tick = -1; other_tick <= 1; other_tick++) {
        assert_int_equal(fault_of(&algo, last_of_four), other_tick == 0 ? FAULT_NONE : FAULT_COUNT);
    }
    other_tick = 0;
    other_id = 1;
    assert_int_equal(fault_of(&algo, last_of_four), FAULT_DUPLICATE);
    other_id = 0;
}

static struct tl_precision early_by_one(const void *options, uint64_t delay_ticks)
{
    (void)options;
    return (struct tl_precision){.early_ticks = delay_ticks > 0};
}

/* A tick before it is due it may fire, but not before the tick that next said. */
static void next_is_not_after_who_is_early(void **state)
{
    (void)state;
    struct tl_algo algo = *made_called("right-heap");
    algo.advance = advance_telling;
    algo.precision = early_by_one;
    algo.capabilities &= ~(uint32_t)TL_CAP_EXACT;
    ahead_ticks = 1;
    other_tick = -1;
    assert_int_equal(fault_of(&algo, "start 0 in 5\nadvance by 4\n"), FAULT_NEXT);
    algo.capabilities &= ~(uint32_t)(TL_CAP_NEXT | TL_CAP_NEXT_EXACT);
    algo.next = NULL;
    assert_int_equal(fault_of(&algo, "start 0 in 5\nadvance by 4\n"), FAULT_NONE);
    ahead_ticks = 0;
    other_tick = 0;
}

/* A root, and a cell below itself. */
static void walk_in_a_circle(const void *self, const struct tl_visitor *visitor)
{
    (void)self;
    const struct tl_part part = {.name = "tree", .form = TL_FORM_TREE};
    visitor->part(visitor->ctx, &part);
    for (uint64_t index = 0; index < 2; index++) {
        const struct tl_cell cell = {.index = index, .parent = index == 0 ? TL_NEVER : index};
        visitor->cell(visitor->ctx, &cell);
    }
}

static uint64_t kept_at_tick;

/* Timer 0, if any is pending. */
static void walk_to_timer(const void *self, const struct tl_visitor *visitor)
{
    const struct tl_part part = {.name = "list", .form = TL_FORM_LIST};
    const struct tl_cell cell = {.parent = TL_NEVER};
    const struct tl_held held = {.at = kept_at_tick};
    visitor->part(visitor->ctx, &part);
    visitor->cell(visitor->ctx, &cell);
    if (made_called("right-heap")->count(self) > 0) {
        visitor->timer(visitor->ctx, &held);
    }
}

static void what_is_shown_is_so(void **state)
{
    (void)state;
    struct tl_algo algo = *made_called("right-heap");
    algo.walk = walk_in_a_circle;
    assert_int_equal(fault_of(&algo, "inspect\n"), FAULT_WALK);
    algo.walk = walk_to_timer;
    for (kept_at_tick = 4; kept_at_tick <= 6; kept_at_tick++) {
        assert_int_equal(fault_of(&algo, "start 0 in 5\ninspect\n"),
                         kept_at_tick == 5 ? FAULT_NONE : FAULT_WALK);
    }
}

static enum tl_status refusal;

static enum tl_status refuse_create(const struct tl_config *config, void **self)
{
    (void)config;
    (void)self;
    return refusal;
}

static enum tl_status refuse_reserve(void *self, uint32_t capacity)
{
    (void)self;
    (void)capacity;
    return refusal;
}

static enum tl_status refuse_start(void *self, uint32_t id, uint64_t deadline)
{
    (void)self;
    (void)id;
    (void)deadline;
    return refusal;
}

/* Memory that was refused; timers that it holds. */
static void who_refuses_has_a_reason(void **state)
{
    (void)state;
    struct tl_algo algo = *made_called("right-full");
    refusal = TL_ERR_FULL;
    algo.start = refuse_start;
    assert_int_equal(fault_of(&algo, "start 0 in 5\n"), FAULT_STATUS);
    refusal = TL_ERR_NOMEM;
    algo.reserve = refuse_reserve;
    assert_int_equal(fault_of(&algo, "reserve 9\n"), FAULT_STATUS);
    algo.create = refuse_create;
    assert_int_equal(fault_of(&algo, "advance by 1\n"), FAULT_STATUS);
}

/* Timer 1 goes before timer 0 at tick 3, out of its turn, if it was started in its second callback
 * as in its first. */
static void what_is_always_done_is_done_each_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum fault_kind fault;
    } examples[] = {
        {"create capacity 3 now 0 max-delay 0\nstart 1 in 1\nstart 0 in 3\n"
         "when 1 fires stop 2\nwhen 1 fires start 1 in 1 always\nadvance by 1\n"
         "advance by 1\nadvance by 1\n",
         FAULT_MISORDERED},
        {"create capacity 3 now 0 max-delay 0\nstart 1 in 1\nstart 0 in 3\n"
         "when 1 fires stop 2\nwhen 1 fires start 1 in 1\nadvance by 1\n"
         "advance by 1\nadvance by 1\n",
         FAULT_NONE},
    };
    const struct tl_algo *algo = made_called("heap-self-restart-keeps-turn");
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = kit_limits_default();
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct kit_trace trace = trace_from(examples[i].text, algo);
        struct kit_verdict verdict;
        kit_replay(&target, &trace, &limits, &verdict);
        assert_int_equal(verdict.fault, examples[i].fault);
        char *text = text_of(&trace, algo);
        assert_string_equal(text, examples[i].text);
        free(text);
        kit_trace_release(&trace);
    }
}

static void what_is_done_often_is_told_once(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("right-heap");
    char text[8192] = "create capacity 90 now 0 max-delay 0\n";
    for (unsigned id = 0; id < 90; id += 3) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "start %u in 7\n", id);
    }
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "start 1 in 5\nadvance by 1\nstop 2\n");
    }
    /* Only of starts and stops are there ranges. */
    static const char others[] = "reserve 91\nreserve 92\nreserve 93\nreserve 94\nreserve 95\n"
                                 "reserve 96\nreserve 97\nreserve 98\n";
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", others);
    struct kit_trace trace = trace_from(text, algo);
    assert_int_equal(trace.count, 158);
    for (uint32_t i = 0; i < 8; i++) {
        trace.ops[150 + i] = kit_op_of(KIT_OP_RESERVE, 91 + i); /* as a case's are logged */
    }
    kit_trace_fold(&trace);
    char *folded = text_of(&trace, algo);
    static const char ranges[] = "create capacity 90 now 0 max-delay 0\nstart 0-87 every 3 in 7\n"
                                 "start 1 in 5\nadvance by 1\nstop 2\n"
                                 "repeat 3 operations 39 times\n";
    assert_memory_equal(folded, ranges, strlen(ranges));
    assert_string_equal(folded + strlen(ranges), others);
    /* The same number of operations is done. */
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_replay(&target, &trace, &limits, &verdict);
    assert_int_equal(verdict.result, KIT_OK);
    assert_int_equal(verdict.operations, 158);
    assert_int_equal(verdict.coverage.pending, 31);
    assert_int_equal(verdict.coverage.callbacks, 31);
    free(folded);
    kit_trace_release(&trace);
}

/* The second structure is printed after the first, with its arguments. */
static void structures_side_by_side_are_told_as_such(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("heap-shares-its-clock");
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    struct kit_trace trace;
    kit_check_case(&target, kit_case_find("two-instances"), &limits, &verdict, &trace);
    assert_int_equal(verdict.result, KIT_FAULT);
    assert_true(verdict.repeats);
    char *text = text_of(&trace, algo);
    const char *second = strstr(text + 1, "create capacity");
    assert_non_null(second);
    struct kit_trace again = trace_from(text, algo);
    struct kit_verdict replayed;
    kit_replay(&target, &again, &limits, &replayed);
    assert_int_equal(replayed.fault, verdict.fault);
    free(text);
    kit_trace_release(&again);
    kit_trace_release(&trace);
}

/* Both structures are printed with the smallest capacity and clock. */
static void each_structure_of_a_list_is_simple(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("heap-shares-free-nodes");
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    struct kit_trace trace;
    kit_check_case(&target, kit_case_find("two-instances"), &limits, &verdict, &trace);
    char *text = text_of(&trace, algo);
    assert_string_equal(text, "create capacity 0 now 0 max-delay 0\n"
                              "create capacity 0 now 0 max-delay 0\n");
    free(text);
    kit_trace_release(&trace);
}

/* Records are printed with the caller's bytes, and where they move. */
static void records_are_told_and_replayed(void **state)
{
    (void)state;
    static const char text[] =
        "create capacity 3 now 0 max-delay 0 records 24 before 8 behind\nstart 0 in 5\n"
        "start 1 in 5\nmove records\nreserve 9\nstart 8 in 2\nadvance by 3\ninspect\n"
        "create capacity 2 now 0 max-delay 0 embedded\nstart 1 in 1\nmove records\n";
    static const struct {
        const char *name;
        enum fault_kind fault;
    } examples[] = {{"right-embedded", FAULT_NONE},
                    {"embedded-writes-behind", FAULT_GUARD},
                    {"embedded-other-order", FAULT_NONE},
                    {"right-heap", FAULT_HARNESS}};
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct tl_algo *algo = made_called(examples[i].name);
        struct kit_target target = kit_target_of(algo, algo);
        struct kit_trace trace = trace_from(text, algo);
        assert_int_equal(trace.sessions[0].records.lodging, KIT_LODGING_RECORDS);
        assert_int_equal(trace.sessions[1].records.lodging, KIT_LODGING_EITHER);
        struct kit_limits limits = kit_limits_default();
        struct kit_verdict verdict;
        kit_replay(&target, &trace, &limits, &verdict);
        assert_int_equal(verdict.fault, examples[i].fault);
        char *again = text_of(&trace, algo);
        assert_string_equal(again, text);
        free(again);
        kit_trace_release(&trace);
    }
}

/* The fuzzer finds a fault of the embedded build alone, and prints its records. */
static void records_are_fuzzed(void **state)
{
    (void)state;
    struct kit_trace trace;
    const struct tl_algo *algo = made_called("embedded-keeps-old-stride");
    (void)find_fault(algo, &trace);
    assert_int_equal(trace.sessions[0].records.lodging, KIT_LODGING_RECORDS);
    assert_int_equal(trace.sessions[0].records.before_bytes, 0);
    assert_int_equal(trace.sessions[0].records.behind_bytes, 0);
    assert_true(trace.count <= 8);
    kit_trace_release(&trace);
}

static void what_takes_no_records_is_not_given_any(void **state)
{
    (void)state;
    const struct tl_algo *heap = made_called("right-heap");
    struct kit_target target = kit_target_of(heap, heap);
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("records"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_SKIPPED);
    assert_non_null(strstr(verdict.message, "takes no records"));
}

static void one_seed_finds_the_same_again(void **state)
{
    (void)state;
    const struct tl_algo *algo = made_called("wheel-edge-one-turn-late");
    struct kit_trace first;
    enum fault_kind fault = find_fault(algo, &first);
    struct kit_target target = kit_target_of(algo, algo);
    struct kit_fuzz_plan plan = {.seed = first.seed, .operations = 1};
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    struct kit_trace second;
    kit_fuzz(&target, &plan, &limits, &verdict, &second);
    assert_int_equal(verdict.fault, fault);
    assert_int_equal(second.seed, first.seed);
    assert_int_equal(second.count, first.count);
    for (size_t i = 0; i < first.count; i++) {
        assert_int_equal(second.ops[i].kind, first.ops[i].kind);
        assert_int_equal(second.ops[i].id, first.ops[i].id);
        assert_int_equal(second.ops[i].ticks, first.ops[i].ticks);
        assert_true(second.ops[i].budget == first.ops[i].budget);
    }
    kit_trace_release(&first);
    kit_trace_release(&second);
}

static void traces_are_read_or_refused_with_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *complaint; /* NULL: is read */
    } examples[] = {
        {"# a comment\ncreate capacity 4 now 0 max-delay 9 options slots=3\nstart 2 in -5 # past\n"
         "start 1 in max\nstop 2\nadvance by 5\nadvance by 5 budget 1\nadvance to next\n"
         "advance to next budget 0\nreserve 9\nwhen 2 fires start 0 in 3\nwhen 2 fires stop 0\n"
         "when 2 fires start 2 in 5 always\nwhen 2 fires stop 1 always\nstart 0-8 in 5\n"
         "stop 0-3 every 2\nrepeat 2 operations 3 times\nallow 4\nallow all\ninspect\n"
         "create capacity 3 now 5 max-delay 0 allow 9 page behind counted options slots=4\nstart 1 "
         "in 1\n"
         "on 0\nrepeat 1 operation 3 times\ndestroy\n",
         NULL},
        {"", "t: empty"},
        {"start 1 in 2\n", "t, line 1: expected 'create"},
        {"create capacity 99999999 now 0 max-delay 0\n", "t, line 1: expected 'create"},
        {"create capacity 4 now 0 max-delay 0 options slot=3\n", "did you mean 'slots'?"},
        {"create capacity 4 now 0 max-delay 0\n\nstart 1\n",
         "t, line 3: 'start 1' is not an operation"},
        {"create capacity 4 now 0 max-delay 0 records 8 before 4 behind\n",
         "t, line 1: the bytes before and after a timer in a record are multiples of 8"},
        {"create capacity 4 now 0 max-delay 0 records 8 before\n", "t, line 1"},
        {"create capacity 4 now 0 max-delay 0 counted embedded\n",
         "t, line 1: the build with counters takes no records"},
        {"create capacity 4 now 0 max-delay 0\nadvance by -1\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nstop 1 2\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nreserve 99999999\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nstart 1 in 2 always\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nstart 3-1 in 2\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nstop 1-3 every 0\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\non 1\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nreserve 3\nstart 4 in 1\n",
         "t, line 3: timer 4 is beyond the capacity of 4"},
        {"create capacity 4 now 0 max-delay 0\nstop 0-4\n", "t, line 2: timer 4 is beyond"},
        {"create capacity 4 now 0 max-delay 0\nwhen 1 fires stop 4\n", "t, line 2: timer 4"},
        {"create capacity 4 now 0 max-delay 0\ncreate capacity 2 now 0 max-delay 0\nstop 2\n",
         "t, line 3: timer 2 is beyond the capacity of 2"},
        {"create capacity 4 now 0 max-delay 0\nrepeat 2 operations\n", "t, line 2"},
        {"create capacity 4 now 0 max-delay 0\nwhen 1 fires stop 1 never\n", "t, line 2"},
    };
    const struct tl_algo *algo = made_called("right-wheel");
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        FILE *stream = strlen(examples[i].text) > 0
                           ? fmemopen((void *)examples[i].text, strlen(examples[i].text), "r")
                           : fopen("/dev/null", "r");
        assert_non_null(stream);
        struct kit_trace trace;
        struct error error = {""};
        bool read = kit_trace_read(&trace, algo, stream, "t", &error);
        (void)fclose(stream);
        if (examples[i].complaint == NULL) {
            assert_true(read);
            assert_int_equal(trace.count, 23);
            assert_int_equal(trace.session_count, 2);
            assert_int_equal(tl_option_number(algo->options, trace.sessions[1].options), 4);
            assert_int_equal(tl_option_number(algo->options, trace.sessions[0].options), 3);
            struct kit_target target = kit_target_of(algo, algo);
            struct kit_limits limits = kit_limits_default();
            struct kit_verdict verdict;
            kit_replay(&target, &trace, &limits, &verdict);
            assert_int_equal(verdict.result, KIT_OK);
            kit_trace_release(&trace);
        } else {
            assert_false(read);
            if (strstr(error.text, examples[i].complaint) == NULL) {
                fail_msg("'%s' does not say '%s'", error.text, examples[i].complaint);
            }
        }
    }
}

/* --- the allocator with guards --------------------------------------------------------------- */

struct complaints {
    jmp_buf back;
    char text[256];
};

static void complain(void *ctx, const char *what)
{
    struct complaints *complaints = ctx;
    (void)snprintf(complaints->text, sizeof complaints->text, "%s", what);
    longjmp(complaints->back, 1);
}

/* Accesses at which a sanitizer would end the process. */
__attribute__((no_sanitize("address"))) static void misuse(struct kit_guard *guard, unsigned which)
{
    struct kit_guard other;
    unsigned char *block = tl_alloc(&guard->allocator, 100, 32);
    switch (which) {
    case 0:
        block[100] = 1;
        kit_guard_check(guard);
        break;
    case 1:
        block[-1] = 1;
        tl_free(&guard->allocator, block, 100, 32);
        break;
    case 2:
        tl_free(&guard->allocator, block, 100, 32);
        block[7] = 1;
        kit_guard_check(guard);
        break;
    case 3:
        tl_free(&guard->allocator, block, 100, 32);
        tl_free(&guard->allocator, block, 100, 32);
        break;
    case 4:
        tl_free(&guard->allocator, block, 99, 32);
        break;
    case 5:
        tl_free(&guard->allocator, block, 100, 16);
        break;
    case 6: /* noticed when it is given back indeed */
        tl_free(&guard->allocator, block, 100, 32);
        block[7] = 1;
        for (unsigned i = 0; i < KIT_GUARD_QUARANTINE; i++) {
            tl_free(&guard->allocator, tl_alloc(&guard->allocator, 8, 8), 8, 8);
        }
        break;
    case 7:
        kit_guard_init(&other, guard->report, guard->report_ctx);
        tl_free(&other.allocator, block, 100, 32);
        break;
    default:
        (void)tl_alloc(&guard->allocator, 10, 24);
    }
}

static void misuse_of_memory_is_noticed(void **state)
{
    (void)state;
    static const char *const said[] = {
        "wrote outside its memory, at offset 100 of a block of 100 bytes",
        "at offset -1 of a block",
        "memory it had freed",
        "back twice",
        "gave back as one of 99 bytes a block of 100 bytes",
        "alignment 16 a block that was allocated with alignment 32",
        "wrote to memory it had freed, at offset 7",
        "that belongs to another structure",
        "which is no power of two",
    };
    /* Volatile: it must live through the jump back. */
    for (volatile unsigned i = 0; i < sizeof said / sizeof said[0]; i++) {
        struct complaints complaints = {.text = ""};
        struct kit_guard guard;
        kit_guard_init(&guard, complain, &complaints);
        if (setjmp(complaints.back) == 0) {
            misuse(&guard, i);
            fail_msg("misuse %u was not noticed", i);
        }
        if (strstr(complaints.text, said[i]) == NULL) {
            fail_msg("'%s' does not say '%s'", complaints.text, said[i]);
        }
        kit_guard_release(&guard);
    }
}

/* Bytes in the second of two records, before and after those of the timer; and the same with room
 * for the first timer only. */
static void each_byte_of_a_record_is_watched(void **state)
{
    (void)state;
    enum { SIDE = 8, TIMER = 16, RECORD = 2 * SIDE + TIMER };
    const struct kit_records_layout layout = {.before_bytes = SIDE, .behind_bytes = SIDE};
    for (volatile uint32_t i = 0; i < 2 * RECORD; i++) {
        struct complaints complaints = {.text = ""};
        struct kit_records records;
        uint32_t at = i % RECORD;
        uint32_t capacity = 1 + i / RECORD;
        bool own = capacity > 1 && at >= SIDE && at < SIDE + TIMER;
        assert_true(kit_records_init(&records, &layout, TIMER, 2, KIT_GUARD_CANARIES, complain,
                                     &complaints));
        ((unsigned char *)records.given.base)[RECORD + at] ^= 1;
        if (setjmp(complaints.back) == 0) {
            kit_records_check(&records, capacity);
        }
        assert_int_equal(complaints.text[0] == '\0', own);
        kit_records_release(&records);
    }
}

static void memory_is_kept_counted_and_refused(void **state)
{
    (void)state;
    struct complaints complaints = {.text = ""};
    struct kit_guard guard;
    kit_guard_init(&guard, complain, &complaints);
    assert_int_equal(setjmp(complaints.back), 0);
    const struct tl_allocator *allocator = &guard.allocator;
    unsigned char *block = tl_alloc(allocator, 10, 4096);
    assert_int_equal((uintptr_t)block % 4096, 0);
    memset(block, 9, 10);
    unsigned char *larger = allocator->resize(allocator->ctx, block, 10, 5000, 4096);
    assert_ptr_not_equal(larger, block);
    assert_int_equal(larger[9], 9);
    assert_int_equal(guard.bytes, 5000);
    assert_int_equal(guard.allocations, 2);
    guard.grants = 1;
    void *small = tl_alloc(allocator, 1, 1);
    assert_non_null(small);
    assert_null(tl_alloc(allocator, 1, 1));
    assert_int_equal(guard.refused, 1);
    guard.grants = UINT64_MAX;
    guard.limit_bytes = 6000;
    assert_null(allocator->resize(allocator->ctx, larger, 5000, 6001, 4096));
    assert_int_equal(larger[0], 9);
    tl_free(allocator, small, 1, 1);
    tl_free(allocator, larger, 5000, 4096);
    kit_guard_check(&guard);
    assert_int_equal(guard.bytes, 0);
    assert_int_equal(guard.blocks, 0);
    kit_guard_release(&guard);
}

/* --- the command, the documentation ---------------------------------------------------------- */

/* Run `timerlab check` with these arguments; return its exit status, and in `output` its standard
 * output, to be freed. */
static int run_check(const char *arguments, char **output)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "'%s/timerlab' check %s 2>&1", TL_BINARY_DIR,
                   arguments);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a shell is intended */
    assert_non_null(pipe);
    size_t bytes = 0;
    *output = NULL;
    FILE *memory = open_memstream(output, &bytes);
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) {
        (void)fputc(c, memory);
    }
    (void)fclose(memory);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_command_reports_and_exits_accordingly(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        int status;
        const char *says;
    } examples[] = {
        {"-a ordered-list --case budget", 0, "ordered-list        budget     ok      1/1"},
        {"-a ordered-list --case fuzz --operations 5000", 0, "fuzz       ok      1/1"},
        {"-a ordered-list --format json --case order", 0, "\"status\": \"ok\""},
        {"-a null --case order", 0, "fires nothing"},
        {"-a ffs-queue:buckets=16777215", 0, "not checked: an instance takes "},
        {"-a ffs-queue:buckets=16777215 --case create", 0, "1/1"},
        {"--list", 0, "callback-same-tick"},
        {"-a ordered-list --case bugdet", 2, "did you mean 'budget'?"},
        {"-a ordered-lis", 2, "ordered-list"},
        {"", 2, "which structures?"},
        {"-a ordered-list --replay /nonexistent", 1, "cannot be read"},
        {"--plugin '" TL_BINARY_DIR "/tests/wrong-plugin.so' -a heap-writes-past-memory "
         "--case memory-guard",
         1, "heap-writes-past-memory, case memory-guard, "},
        {"--plugin '" TL_BINARY_DIR "/tests/wrong-plugin.so' -a heap-writes-past-memory "
         "--seconds 0",
         1, "cases were not run because others had failed: --all runs them"},
        {"--plugin '" TL_BINARY_DIR "/tests/wrong-plugin.so' -a heap-writes-past-memory "
         "--seconds 0",
         1, "other cases that fail: "},
        {"--plugin '" TL_BINARY_DIR "/tests/wrong-plugin.so' -a heap-writes-past-memory "
         "--case fifo --format json",
         1, "\"repeats\": true"},
        {"--plugin '" TL_BINARY_DIR "/tests/wrong-plugin.so' -a heap-writes-past-memory,right-heap"
         " --case fuzz --operations 1000",
         2, "right-heap"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char *output = NULL;
        int status = run_check(examples[i].arguments, &output);
        if (status != examples[i].status || strstr(output, examples[i].says) == NULL) {
            fail_msg("check %s: status %d, and not '%s':\n%s", examples[i].arguments, status,
                     examples[i].says, output);
        }
        free(output);
    }
}

/* --- a slow disk ----------------------------------------------------------------------------- */

static const struct tl_algo *plain_algo;

/* Wait for a disk as long as possible: a call that ignores its file is not a real one. */
static enum tl_status create_and_sync(const struct tl_config *config, void **self)
{
    FILE *file = tmpfile();
    for (unsigned calls = 0; calls < 100000000 && fdatasync(-1) != 0; calls++) {
        (void)fdatasync(fileno(file));
    }
    if (fdatasync(-1) != 0 || fsync(-1) != 0) {
        abort();
    }
    (void)fclose(file);
    return plain_algo->create(config, self);
}

static void no_case_waits_long_for_a_disk(void **state)
{
    (void)state;
    const struct kit_limits limits = kit_limits_default();
    plain_algo = tl_registry_find("binary-heap")->timed;
    struct tl_algo algo = *plain_algo;
    algo.create = create_and_sync;
    const struct kit_target target = kit_target_of(&algo, &algo);
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("create"), &limits, &verdict, NULL);
    if (verdict.result != KIT_OK) {
        fail_msg("%s", verdict.message);
    }
    /* Outside of cases the calls are real ones. */
    assert_int_equal(fdatasync(-1), -1);
    assert_int_equal(fsync(-1), -1);
    assert_int_equal(errno, EBADF);
}

static void the_documentation_lists_every_case(void **state)
{
    (void)state;
    FILE *file = fopen(TL_SOURCE_DIR "/docs/internals/conformance.md", "r");
    assert_non_null(file);
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        (void)fputc(c, memory);
    }
    (void)fclose(memory);
    (void)fclose(file);
    char *table = NULL;
    assert_int_equal(run_check("--list --format md", &table), 0);
    if (strstr(text, table) == NULL) {
        fail_msg(
            "docs/internals/conformance.md does not hold what `timerlab check --list --format md` "
            "prints:\n%s",
            table);
    }
    free(table);
    static const char *const rows[] = {
#define FAULT_LINE(code, word, column, sentence) "\n| `" word "` | " sentence " |\n",
        FAULT_MAP(FAULT_LINE)
#undef FAULT_LINE
    };
    for (size_t i = FAULT_NONE + 1; i < FAULT_HARNESS; i++) {
        if (strstr(text, rows[i]) == NULL) {
            fail_msg("docs/internals/conformance.md does not have the fault's line:%s", rows[i]);
        }
    }
    free(text);
}

static void what_is_not_here_is_left_out(void **state)
{
    (void)state;
    struct tl_algo algo = *made_called("right-heap");
    algo.create = refuse_create;
    refusal = TL_ERR_UNAVAILABLE;
    const struct kit_target target = kit_target_of(&algo, &algo);
    const struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    kit_check_case(&target, kit_case_find("budget"), &limits, &verdict, NULL);
    assert_int_equal(verdict.result, KIT_SKIPPED);
    assert_string_equal(verdict.message, tl_status_text(TL_ERR_UNAVAILABLE));
}

/* It is the last operation, and the operations of its callbacks come before it. */
static void an_advance_is_logged_when_it_begins(void **state)
{
    (void)state;
    static struct kit_log log;
    const struct kit_session session = {.capacity = 2};
    static const enum kit_op_kind kinds[] = {KIT_OP_START, KIT_OP_ADVANCE, KIT_OP_WHEN_STOP,
                                             KIT_OP_WHEN_START};
    static const enum kit_op_kind expected[] = {KIT_OP_START, KIT_OP_WHEN_STOP, KIT_OP_WHEN_START,
                                                KIT_OP_ADVANCE};
    uint32_t instance = kit_log_create(&log, &session);
    struct kit_trace trace;
    for (size_t i = 0; i < 4; i++) {
        kit_log_op(&log, instance, kit_op_of(kinds[i], 0));
    }
    kit_log_trace(&log, &trace);
    assert_int_equal(trace.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(trace.ops[i].kind, expected[i]);
    }
    kit_trace_release(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_here_is_left_out),
        cmocka_unit_test(an_advance_is_logged_when_it_begins),
        cmocka_unit_test(misuse_of_memory_is_noticed),
        cmocka_unit_test(each_byte_of_a_record_is_watched),
        cmocka_unit_test(memory_is_kept_counted_and_refused),
        cmocka_unit_test(every_wrong_structure_is_caught_by_its_case),
        cmocka_unit_test(interrupted_threads_show_the_same_fault_each_time),
        cmocka_unit_test(only_all_small_sequences_find_the_one),
        cmocka_unit_test(what_a_case_finds_is_told_in_few_operations),
        cmocka_unit_test(what_fires_nothing_is_skipped),
        cmocka_unit_test(promises_not_made_are_not_checked),
        cmocka_unit_test(an_unusable_descriptor_is_named),
        cmocka_unit_test(the_case_cost_says_how_far_it_went),
        cmocka_unit_test(a_build_that_counts_and_does_otherwise_is_noticed),
        cmocka_unit_test(a_fault_is_shrunk_and_replayed),
        cmocka_unit_test(late_and_lost_are_one_fault),
        cmocka_unit_test(the_fuzzer_finds_what_is_wrong_only_inside_callbacks),
        cmocka_unit_test(each_rule_counts_by_itself),
        cmocka_unit_test(callbacks_are_told_their_timer_and_tick),
        cmocka_unit_test(next_is_not_after_who_is_early),
        cmocka_unit_test(what_is_shown_is_so),
        cmocka_unit_test(who_refuses_has_a_reason),
        cmocka_unit_test(what_is_always_done_is_done_each_time),
        cmocka_unit_test(what_is_done_often_is_told_once),
        cmocka_unit_test(structures_side_by_side_are_told_as_such),
        cmocka_unit_test(each_structure_of_a_list_is_simple),
        cmocka_unit_test(records_are_told_and_replayed),
        cmocka_unit_test(records_are_fuzzed),
        cmocka_unit_test(what_takes_no_records_is_not_given_any),
        cmocka_unit_test(one_seed_finds_the_same_again),
        cmocka_unit_test(traces_are_read_or_refused_with_line),
        cmocka_unit_test(the_command_reports_and_exits_accordingly),
        cmocka_unit_test(no_case_waits_long_for_a_disk),
        cmocka_unit_test(the_documentation_lists_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
