/*
 * Verdicts on measurements with a known truth: two equal sides are not called different more often
 * than promised, whatever the machine does, and a side that takes 5 % longer is called slower on a
 * machine as noisy as real ones.
 */
#include "test.h"

#include "judge.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COMPARISONS 1000
#define RUNS_MAX    20
#define P_MAX       0.05

/* Rounds of two copies of one binary heap, interleaved with six other structures, on a virtual
 * machine of two processors that built programs meanwhile: ns per event. By the processor's time,
 * and by the wall's clock. */
static const double rounds_processor[][2] = {
    {27.18, 27.18}, {27.03, 27.17}, {28.56, 28.51}, {28.02, 29.49}, {27.23, 27.65}, {27.52, 28.14},
    {27.18, 26.65}, {27.23, 28.61}, {27.15, 26.55}, {27.28, 26.74}, {26.62, 27.57}, {27.77, 27.23},
    {28.24, 28.24}, {28.18, 28.30}, {28.81, 28.52}, {27.68, 27.96}, {27.85, 28.42}, {27.72, 29.49},
    {27.92, 29.48}, {27.23, 27.27}, {27.65, 27.40}, {27.46, 27.65}, {27.24, 27.13}, {27.57, 28.02},
    {28.03, 27.34}, {27.73, 27.88}, {27.59, 27.11}, {27.84, 27.22}, {27.42, 27.44}, {27.09, 27.43},
    {27.56, 26.80}, {28.10, 27.59}, {27.41, 27.50}, {27.17, 27.69}, {26.70, 26.96}, {27.73, 26.77},
    {27.70, 27.42}, {27.73, 26.65}, {27.76, 27.05}, {28.06, 27.10}, {27.34, 27.30}, {27.59, 27.31},
    {27.49, 27.36}, {27.11, 27.49}, {27.02, 27.82}, {27.51, 26.71}, {27.72, 27.02}, {27.11, 27.06},
    {26.96, 27.23}, {27.38, 26.80}, {26.84, 26.82}, {27.17, 27.34}, {26.82, 26.83}, {26.88, 27.24},
    {27.01, 26.72}, {27.17, 27.53}, {27.67, 27.06}, {27.86, 27.42}, {27.44, 27.14}, {27.14, 27.67}};
static const double rounds_wall[][2] = {
    {27.46, 27.15}, {27.10, 27.20}, {46.09, 28.66}, {28.78, 46.75}, {27.59, 27.91}, {27.71, 37.89},
    {27.18, 26.63}, {27.21, 30.43}, {28.83, 26.53}, {27.60, 26.71}, {35.98, 28.74}, {34.07, 27.21},
    {44.15, 44.10}, {28.14, 44.54}, {48.79, 34.58}, {27.61, 51.56}, {40.36, 33.08}, {27.87, 37.63},
    {27.90, 34.52}, {32.13, 27.45}, {27.80, 27.38}, {27.67, 27.65}, {27.22, 27.11}, {27.56, 28.16},
    {28.24, 27.34}, {30.96, 27.87}, {27.60, 27.12}, {27.84, 27.22}, {27.43, 27.44}, {27.09, 27.61},
    {27.56, 26.80}, {28.10, 27.59}, {27.44, 27.47}, {27.17, 27.90}, {26.70, 26.95}, {27.70, 26.74},
    {27.70, 27.43}, {27.73, 26.65}, {27.73, 27.03}, {28.07, 27.08}, {27.34, 27.30}, {27.58, 27.28},
    {27.46, 27.36}, {27.08, 27.50}, {27.02, 27.79}, {30.71, 26.69}, {28.43, 28.48}, {27.08, 27.02},
    {26.94, 27.31}, {27.37, 26.78}, {26.85, 26.83}, {27.18, 28.33}, {26.82, 26.80}, {26.88, 27.22},
    {27.00, 26.71}, {27.19, 27.69}, {27.64, 27.03}, {27.86, 27.39}, {27.43, 27.15}, {27.13, 27.68}};
#define ROUNDS (sizeof rounds_processor / sizeof rounds_processor[0])

/* --- machines -------------------------------------------------------------------------------- */

/* The disturbances that a machine adds to the logarithm of a time. */
struct machine {
    struct random random;
    double wandering; /* where a machine that changes slowly has come to */
    unsigned burst;   /* runs for which it will still be disturbed */
};

static double normal(struct machine *machine)
{
    return random_normal_quantile(random_unit(&machine->random));
}

static double gaussian(struct machine *machine, double time)
{
    (void)time;
    return log(fmax(0.5, 1 + 0.03 * normal(machine)));
}

static double lognormal(struct machine *machine, double time)
{
    (void)time;
    return 0.1 * normal(machine);
}

/* Student's t with two degrees of freedom: no variance at all. */
static double heavy_tails(struct machine *machine, double time)
{
    (void)time;
    return 0.03 * normal(machine) / sqrt(random_exponential(&machine->random, 1));
}

/* Quiet, but now and then for six runs or so 20 to 80 % slower. */
static double bursts(struct machine *machine, double time)
{
    (void)time;
    if (machine->burst > 0) {
        machine->burst--;
    } else if (random_unit(&machine->random) < 0.03) {
        machine->burst = (unsigned)random_exponential(&machine->random, 6);
    }
    double quiet = 0.02 * normal(machine);
    return machine->burst > 0 ? quiet + 0.2 + 0.6 * random_unit(&machine->random) : quiet;
}

/* 10 % slower at the end than at the beginning. */
static double drift(struct machine *machine, double time)
{
    return 0.02 * normal(machine) + 0.1 * time;
}

/* Slower and faster by and by, without an aim. */
static double wandering(struct machine *machine, double time)
{
    (void)time;
    machine->wandering = 0.9 * machine->wandering + 0.03 * normal(machine);
    return machine->wandering + 0.01 * normal(machine);
}

static const struct {
    const char *name;
    double (*noise)(struct machine *machine, double time);
} machines[] = {
    {"gaussian", gaussian}, {"log-normal", lognormal}, {"heavy tails", heavy_tails},
    {"bursts", bursts},     {"drift", drift},          {"wandering", wandering},
};
#define MACHINES (sizeof machines / sizeof machines[0])

struct sides {
    double base[RUNS_MAX];
    double other[RUNS_MAX];
};

/* Rounds, every second one backwards, of sides that differ by the factor `slower`. */
static void run_interleaved(size_t which, struct machine *machine, size_t runs, double slower,
                            struct sides *sides)
{
    machine->wandering = 0;
    machine->burst = 0;
    for (size_t i = 0; i < 2 * runs; i++) {
        double value = exp(machines[which].noise(machine, (double)i / (double)(2 * runs)));
        bool base_first = i / 2 % 2 == 0;
        if ((i % 2 == 0) == base_first) {
            sides->base[i / 2] = value;
        } else {
            sides->other[i / 2] = value * slower;
        }
    }
}

/* All runs of the one, then all of the other. */
static void run_apart(size_t which, struct machine *machine, size_t runs, struct sides *sides)
{
    machine->wandering = 0;
    machine->burst = 0;
    for (size_t i = 0; i < 2 * runs; i++) {
        double value = exp(machines[which].noise(machine, (double)i / (double)(2 * runs)));
        *(i < runs ? &sides->base[i] : &sides->other[i - runs]) = value;
    }
}

/* Rounds drawn from recorded ones, five in a row at a time, each the one way round or the other. */
static void run_recorded(const double (*recorded)[2], struct machine *machine, size_t runs,
                         double slower, struct sides *sides)
{
    size_t at = 0;
    for (size_t i = 0; i < runs; i++) {
        at = i % 5 == 0 ? (size_t)(random_bits(&machine->random) % ROUNDS) : (at + 1) % ROUNDS;
        size_t swap = random_bits(&machine->random) % 2;
        sides->base[i] = recorded[at][swap];
        sides->other[i] = recorded[at][1 - swap] * slower;
    }
}

/* --- verdicts -------------------------------------------------------------------------------- */

static const struct judge_settings paired_settings = {.confidence = 0.95, .min_effect = 0.01};
static const struct judge_settings apart_settings = {.confidence = 0.95, .min_effect = 0.05};

struct tally {
    unsigned slower;
    unsigned faster;
    unsigned missed; /* intervals that do not contain the truth */
};

static void count_verdict(const struct judgement *judgement, double truth, struct tally *tally)
{
    if (judgement->obstacle != JUDGE_CLEAR) {
        return;
    }
    tally->slower += judgement->p <= P_MAX && judgement->change > 0;
    tally->faster += judgement->p <= P_MAX && judgement->change < 0;
    tally->missed += judgement->low > truth || judgement->high < truth;
    /* a reported difference has an interval beyond the least effect */
    if (judgement->p <= P_MAX) {
        assert_true(judgement->low > 0 || judgement->high < 0);
    }
}

static void hold_alarms(const char *how, const char *machine, size_t runs, struct tally tally)
{
    unsigned alarms = tally.slower + tally.faster;
    printf("%-11s %-12s %2zu runs: %2u of %d told apart\n", how, machine, runs, alarms,
           COMPARISONS);
    assert_true(alarms <= P_MAX * COMPARISONS);
}

static void equal_sides_are_not_told_apart(void **state)
{
    (void)state;
    static const size_t runs[] = {6, 10, 20};
    struct machine machine = {0};
    random_seed(&machine.random, 1);
    for (size_t m = 0; m < MACHINES; m++) {
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            struct tally tally = {0};
            for (int i = 0; i < COMPARISONS; i++) {
                struct sides sides;
                struct judgement judgement;
                run_interleaved(m, &machine, runs[r], 1, &sides);
                judge_paired(sides.base, sides.other, runs[r], &paired_settings, &judgement);
                count_verdict(&judgement, 0, &tally);
            }
            hold_alarms("interleaved", machines[m].name, runs[r], tally);
            /* without a least effect an interval of 95 % is missed in 5 % (some spread allowed) */
            assert_true(tally.missed <= 0.07 * COMPARISONS);
        }
    }
}

static void equal_sides_measured_apart_are_not_told_apart(void **state)
{
    (void)state;
    static const size_t runs[] = {6, 10};
    struct machine machine = {0};
    random_seed(&machine.random, 2);
    for (size_t m = 0; m < MACHINES; m++) {
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            struct tally tally = {0};
            for (int i = 0; i < COMPARISONS; i++) {
                struct sides sides;
                struct judgement judgement;
                run_apart(m, &machine, runs[r], &sides);
                judge_unpaired(sides.base, runs[r], sides.other, runs[r], &apart_settings,
                               &judgement);
                count_verdict(&judgement, 0, &tally);
            }
            hold_alarms("apart", machines[m].name, runs[r], tally);
        }
    }
}

static void recorded_rounds_of_equal_sides_are_not_told_apart(void **state)
{
    (void)state;
    struct machine machine = {0};
    random_seed(&machine.random, 3);
    for (size_t runs = 10; runs <= 20; runs += 5) {
        struct tally processor = {0};
        struct tally wall = {0};
        for (int i = 0; i < COMPARISONS; i++) {
            struct sides sides;
            struct judgement judgement;
            run_recorded(rounds_processor, &machine, runs, 1, &sides);
            judge_paired(sides.base, sides.other, runs, &paired_settings, &judgement);
            count_verdict(&judgement, 0, &processor);
            run_recorded(rounds_wall, &machine, runs, 1, &sides);
            judge_paired(sides.base, sides.other, runs, &paired_settings, &judgement);
            count_verdict(&judgement, 0, &wall);
        }
        hold_alarms("recorded", "processor", runs, processor);
        hold_alarms("recorded", "wall", runs, wall);
    }
}

static void five_percent_is_found(void **state)
{
    (void)state;
    struct machine machine = {0};
    random_seed(&machine.random, 4);
    for (size_t runs = 15; runs <= 20; runs += 5) {
        struct tally processor = {0};
        struct tally wall = {0};
        for (int i = 0; i < COMPARISONS; i++) {
            struct sides sides;
            struct judgement judgement;
            run_recorded(rounds_processor, &machine, runs, 1.05, &sides);
            judge_paired(sides.base, sides.other, runs, &paired_settings, &judgement);
            count_verdict(&judgement, 0.05, &processor);
            run_recorded(rounds_wall, &machine, runs, 1.05, &sides);
            judge_paired(sides.base, sides.other, runs, &paired_settings, &judgement);
            count_verdict(&judgement, 0.05, &wall);
        }
        printf("5 %% slower, %zu runs: found in %u of %d by processor time, in %u by the wall\n",
               runs, processor.slower, COMPARISONS, wall.slower);
        assert_true(processor.slower >= 0.95 * COMPARISONS);
        assert_int_equal(processor.faster, 0);
        assert_true(wall.slower >= 0.8 * COMPARISONS);
        assert_true(wall.faster <= 0.001 * COMPARISONS);
    }
}

/* The machine slows down by 10 % meanwhile: between interleaved sides this does not matter. */
static void five_percent_is_found_in_a_drift(void **state)
{
    (void)state;
    struct machine machine = {0};
    random_seed(&machine.random, 5);
    struct tally tally = {0};
    for (int i = 0; i < COMPARISONS; i++) {
        struct sides sides;
        struct judgement judgement;
        run_interleaved(4, &machine, 20, 1.05, &sides);
        judge_paired(sides.base, sides.other, 20, &paired_settings, &judgement);
        count_verdict(&judgement, 0.05, &tally);
    }
    printf("5 %% slower in a drift: found in %u of %d\n", tally.slower, COMPARISONS);
    assert_true(tally.slower >= 0.95 * COMPARISONS);
}

/* --- single cases ---------------------------------------------------------------------------- */

static void what_cannot_be_judged_says_why(void **state)
{
    (void)state;
    static const double up[] = {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9};
    static const double other[] = {2.1, 2.2, 2.0, 2.15, 2.05, 2.12, 2.02, 2.18, 2.08, 2.11};
    static const double zero[] = {1, 0, 1, 1, 1, 1};
    static const double endless[] = {1, INFINITY, 1, 1, 1, 1};
    struct judgement judgement;
    judge_paired(up, other, 4, &paired_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_FEW_RUNS);
    judge_unpaired(up, 4, other, 10, &apart_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_FEW_RUNS);
    judge_unpaired(other, 10, up, 4, &apart_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_FEW_RUNS);
    judge_paired(up, zero, 6, &paired_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_NOT_POSITIVE);
    judge_unpaired(zero, 6, up, 6, &apart_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_NOT_POSITIVE);
    assert_true(judgement.p == 1);
    judge_paired(up, endless, 6, &paired_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_NOT_POSITIVE);
}

static void changes_are_ratios(void **state)
{
    (void)state;
    static const double base[] = {10, 11, 10.5, 10.2, 10.7, 10.1};
    double other[6];
    struct judgement judgement;
    for (int i = 0; i < 6; i++) {
        other[i] = base[i] * 1.25;
    }
    judge_paired(base, other, 6, &paired_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_CLEAR);
    assert_true(fabs(judgement.change - 0.25) < 1e-12);
    assert_true(fabs(judgement.p - 2.0 / 64) < 1e-12);
    judge_paired(other, base, 6, &paired_settings, &judgement);
    assert_true(fabs(judgement.change + 0.2) < 1e-12);
    judge_unpaired(base, 6, other, 6, &apart_settings, &judgement);
    assert_true(fabs(judgement.p - 2.0 / 924) < 1e-12); /* 12 choose 6 */
    /* five pairs can show no less than 2/32: no verdict at 95 %, and no interval */
    judge_paired(base, other, 5, &paired_settings, &judgement);
    assert_true(fabs(judgement.p - 2.0 / 32) < 1e-12);
    assert_true(judgement.low == -1 && isinf(judgement.high));
    /* 25 % is no more than a least effect of 30 % */
    struct judge_settings demanding = {.confidence = 0.95, .min_effect = 0.3};
    judge_paired(base, other, 6, &demanding, &judgement);
    assert_true(judgement.p == 1);
}

/* One side gets steadily slower: a difference must be larger than that drift. */
static void a_drift_must_be_exceeded(void **state)
{
    (void)state;
    static const double rising[] = {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9};
    static const double hopping[] = {2.1, 2.2, 2.0, 2.15, 2.05, 2.12, 2.02, 2.18, 2.08, 2.11};
    double far[10];
    struct judgement judgement;
    judge_unpaired(rising, 10, hopping, 10, &apart_settings, &judgement);
    assert_int_equal(judgement.obstacle, JUDGE_CLEAR);
    assert_true(fabs(judgement.drift - 0.9) < 1e-12);
    assert_true(fabs(judgement.min_effect - (1.05 * 1.9 - 1)) < 1e-12);
    assert_true(judgement.p > P_MAX);
    judge_unpaired(hopping, 10, rising, 10, &apart_settings, &judgement);
    assert_true(judgement.drift > 0.89 && judgement.p > P_MAX);
    for (int i = 0; i < 10; i++) {
        far[i] = 2 * hopping[i];
    }
    judge_unpaired(rising, 10, far, 10, &apart_settings, &judgement);
    assert_true(judgement.p <= P_MAX);
    /* of pairs it is the ratios that count: here they only ever rise */
    for (int i = 0; i < 10; i++) {
        far[i] = hopping[i] * rising[i];
    }
    judge_paired(hopping, far, 10, &paired_settings, &judgement);
    assert_true(fabs(judgement.drift - 0.9) < 1e-12 && judgement.p > P_MAX);
    judge_unpaired(hopping, 10, hopping, 10, &apart_settings, &judgement);
    assert_true(judgement.drift == 0 && fabs(judgement.min_effect - 0.05) < 1e-12);
}

/* In five of twenty rounds something else took the processor from one side, or from both. */
static void disturbed_rounds_are_left_out(void **state)
{
    (void)state;
    static const double quiet[] = {10.0, 10.2, 9.9,  10.1, 10.3, 9.8,  10.0, 10.1, 9.9, 10.2,
                                   10.1, 9.9,  10.0, 10.2, 9.8,  10.3, 10.1, 10.0, 9.9, 10.2};
    double base[20];
    double other[20];
    for (size_t i = 0; i < 20; i++) {
        base[i] = quiet[i] * (i % 8 == 3 ? 2 : 1);
        other[i] = quiet[(i + 7) % 20] * 1.05 * (i % 8 >= 3 && i % 8 <= 4 ? 1.9 : 1);
    }
    struct judgement judgement;
    struct judgement reverse;
    judge_paired(base, other, 20, &paired_settings, &judgement);
    assert_int_equal(judgement.disturbed, 5);
    assert_true(judgement.p <= P_MAX && fabs(judgement.change - 0.05) < 0.01);
    /* which side is the base makes no difference */
    judge_paired(other, base, 20, &paired_settings, &reverse);
    assert_int_equal(reverse.disturbed, 5);
    assert_true(fabs(reverse.p - judgement.p) < 1e-9);
    /* as far above the shortest quarter as 2.2 times from there to the shortest of all is quiet */
    static const double reach[] = {0,    0.01, 0.01, 0.01,  0.02,  0.02,
                                   0.02, 0.02, 0.02, 0.031, 0.033, 0.1};
    for (size_t i = 0; i < 12; i++) {
        base[i] = exp(reach[i] / 2);
        other[i] = base[i] * 1.05;
    }
    judge_paired(base, other, 12, &paired_settings, &judgement);
    assert_int_equal(judgement.disturbed, 2);
    /* few rounds: none is skipped */
    judge_paired(base, other, 11, &paired_settings, &judgement);
    assert_int_equal(judgement.disturbed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sides_are_not_told_apart),
        cmocka_unit_test(equal_sides_measured_apart_are_not_told_apart),
        cmocka_unit_test(recorded_rounds_of_equal_sides_are_not_told_apart),
        cmocka_unit_test(five_percent_is_found),
        cmocka_unit_test(five_percent_is_found_in_a_drift),
        cmocka_unit_test(what_cannot_be_judged_says_why),
        cmocka_unit_test(changes_are_ratios),
        cmocka_unit_test(a_drift_must_be_exceeded),
        cmocka_unit_test(disturbed_rounds_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
