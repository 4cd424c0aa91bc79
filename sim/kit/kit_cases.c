#include "kit_script.h"

#include <string.h>

static const struct kit_case cases[] = {
    {"create", "life", 0, case_create, "makes and destroys structures of any capacity, 0 included"},
    {"empty", "life", 0, case_empty, "with nothing pending nothing fires, and next says never"},
    {"destroy-pending", "life", 0, case_destroy_pending,
     "destroy frees everything while timers are pending"},
    {"two-instances", "life", 0, case_two_instances, "two structures do not affect each other"},
    {"several-instances", "life", KIT_ONCE, case_several_instances,
     "six that differ in options, size and clock do not affect each other"},
    {"deadline-near", "deadlines", 0, case_deadline_near,
     "deadlines that are now, in the past or a tick ahead fire in the next advance to them"},
    {"boundaries", "deadlines", 0, case_boundaries,
     "single timers at and around k*slot, k*span and powers fire in their time"},
    {"boundaries-together", "deadlines", 0, case_boundaries_together,
     "the same, all pending at once"},
    {"deadline-far", "deadlines", 0, case_deadline_far,
     "deadlines from 2^20 to 2^63 are refused or fire in their time"},
    {"announced", "deadlines", 0, case_announced,
     "the longest delay announced, and its neighbours, fire in time"},
    {"restart", "restart", 0, case_restart,
     "a pending timer moved to another deadline, or to the same, fires then, once"},
    {"stop-idle", "stop", 0, case_stop_idle,
     "stopping a timer that is not pending returns TL_IDLE and changes nothing"},
    {"stop-pending", "stop", 0, case_stop_pending,
     "a stopped timer does not fire, its neighbours do"},
    {"reused-id", "stop", 0, case_reused_id,
     "stale entries of an id's earlier timer do not affect its next timer"},
    {"callback-self", "callbacks", 0, case_callback_self,
     "a callback may stop and restart its own timer, which never fires in the same advance"},
    {"callback-others", "callbacks", 0, case_callback_others,
     "a callback may start, move and stop other timers, due or not"},
    {"callback-same-tick", "callbacks", 0, case_callback_same_tick,
     "callbacks may stop, move and start timers that are due at the same tick"},
    {"callback-again", "callbacks", 0, case_callback_again,
     "a timer that its callback restarts again and again fires each time, in its turn"},
    {"callback-mixed", "callbacks", 0, case_callback_mixed,
     "callbacks may start, move and stop at random"},
    {"budget", "budget", TL_CAP_BUDGET, case_budget,
     "no more fire than the budget says, and the rest follow"},
    {"budget-left-over", "budget", TL_CAP_BUDGET, case_budget_left_over,
     "a timer left over by a budget is pending: it can be stopped or moved"},
    {"budget-callback", "budget", TL_CAP_BUDGET, case_budget_callback,
     "budget and callbacks that start, move and stop go together"},
    {"advance-mixed", "time", 0, case_advance_mixed,
     "tick by tick and in steps of any length, every timer fires in its time"},
    {"advance-jump", "time", 0, case_advance_jump,
     "jumps of 2^10 to 2^40 ticks fire the timers that they pass, and no others"},
    {"long-idle", "time", 0, case_long_idle, "after long times without timers all is as before"},
    {"precision", "time", 0, case_precision,
     "no timer is earlier or later than declared for its delay"},
    {"next", "next", TL_CAP_NEXT, case_next,
     "next is never after the next expiry, and exactly that if promised"},
    {"next-drive", "next", TL_CAP_NEXT, case_next_drive,
     "driven by next alone, next grows and every timer fires in its time"},
    {"next-turn", "next", TL_CAP_NEXT, case_next_turn,
     "timers that descend several levels of a wheel at once are not overlooked"},
    {"order", "order", TL_CAP_ORDERED, case_order,
     "within one advance timers fire in order of due tick"},
    {"fifo", "order", TL_CAP_FIFO, case_fifo,
     "timers of one due tick fire in the order of their starts"},
    {"refused", "refusals", 0, case_refused,
     "a refused start changes nothing, and leaves a pending timer as it was"},
    {"full", "refusals", TL_CAP_REFUSES, case_full,
     "a start refused for being full changes nothing, and room comes back"},
    {"horizon", "refusals", 0, case_horizon,
     "a deadline nearer than an accepted one is accepted too, at any time"},
    {"options-ends", "refusals", KIT_ONCE, case_options_ends,
     "every option works, or is refused, at both ends of its range"},
    {"reserve-grows", "memory", 0, case_reserve_grows,
     "reserve makes new ids usable and leaves pending timers alone"},
    {"reserve-word", "memory", 0, case_reserve_word,
     "after reserve, no start fails for want of memory"},
    {"allocation-failure", "memory", 0, case_allocation_failure,
     "a refused allocation anywhere is reported and undone"},
    {"memory-guard", "memory", 0, case_memory_guard,
     "nothing outside its own memory is written or freed"},
    {"memory-pages", "memory", 0, case_memory_pages,
     "nothing outside its own memory is read, or after it was freed"},
    {"memory-sizes", "memory", KIT_ONCE, case_memory_sizes,
     "room for more timers than there is memory for is refused"},
    {"memory-in-sight", "memory", KIT_ONCE, case_memory_in_sight,
     "all memory comes from the allocator, and goes back"},
    {"memory-bounded", "memory", KIT_ONCE, case_memory_bounded,
     "the memory of a few timers that are restarted for ever is bounded"},
    {"many-one-tick", "large", KIT_ONCE, case_many_one_tick,
     "very many timers due at one tick fire, within the budget"},
    {"many-exactly", "large", KIT_ONCE, case_many_exactly,
     "2^7 to 2^17 timers at one tick are as right as drawn numbers between"},
    {"many-churn", "large", KIT_ONCE, case_many_churn,
     "with thousands pending, every operation and next are right"},
    {"many-reserved", "large", KIT_ONCE, case_many_reserved,
     "reserve grows from one timer to very many while they are pending"},
    {"callback-crowd", "large", KIT_ONCE, case_callback_crowd,
     "thousands of callbacks of one advance may start, move and stop"},
    {"long-life", "large", KIT_ONCE, case_long_life,
     "one instance is right for 2^17 to 2^18 starts, expiries and stops"},
    {"number-again", "large", KIT_ONCE, case_number_again,
     "a start does not act for one of 2^8, 2^9, ... or 2^17 starts before"},
    {"records", "embedded", KIT_NEEDS_RECORDS, case_records,
     "timers may lie in a caller's records, of any size, anywhere in them"},
    {"records-moved", "embedded", KIT_NEEDS_RECORDS, case_records_moved,
     "when the records have moved, all is where they are now"},
    {"records-beside", "embedded", KIT_NEEDS_RECORDS | KIT_ONCE, case_records_beside,
     "of the records nothing but its own bytes is written, and nothing around them read"},
    {"records-none", "embedded", KIT_NEEDS_RECORDS, case_records_none,
     "the build that takes records does without them, too"},
    {"records-alike", "embedded", KIT_NEEDS_RECORDS, case_records_alike,
     "timers fire alike, wherever they lie"},
    {"records-contract", "embedded", KIT_NEEDS_RECORDS | KIT_ONCE, case_records_contract,
     "the assertions of the other cases hold with records, too"},
    {"small-cases", "small", 0, case_small,
     "all short sequences of operations on few timers, state by state"},
    {"invariants", "inside", 0, case_invariants,
     "the structure's own check and walk agree with the operations"},
    {"counters", "inside", KIT_ONCE, case_counters,
     "the counters of work done only grow, not absurdly, and each structure has its own"},
    {"undisturbed", "inside", 0, case_undisturbed,
     "calls that only ask change nothing, nor does counting"},
    {"cost", "inside", KIT_ONCE, case_cost,
     "the work counted grows with the timers as the descriptor says"},
    {"span", "inside", KIT_ONCE, case_span,
     "an advance over 2^32 ticks and more costs no more than one over a large wheel"},
    {"determinism", "inside", 0, case_determinism,
     "equal operations give equal results, whatever memory held before"},
    {"two-threads", "threads", KIT_ONCE, case_two_threads,
     "two threads, each with an instance of its own, do not affect each other at any moment"},
    {"concurrent-steps", "threads", TL_CAP_CONCURRENT | KIT_ONCE, case_concurrent_steps,
     "two and three threads, interrupted before any access, leave results of some order"},
    {"concurrent-stress", "threads", TL_CAP_CONCURRENT | KIT_ONCE, case_concurrent_stress,
     "threads that start and stop the same timers while one advances lose and repeat none"},
};

const struct kit_case *kit_cases(size_t *count)
{
    *count = LENGTH(cases);
    return cases;
}

const struct kit_case *kit_case_find(const char *name)
{
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

static void run_under(struct kit_run *run, const void *options)
{
    memcpy(run->options, options, sizeof run->options);
    memcpy(run->witness->options, options, sizeof run->witness->options);
    run->algo = run->target->algo;
    run->layout = (struct kit_records_layout){.lodging = KIT_LODGING_OWN};
    run->place = KIT_GUARD_CANARIES;
    run->contract_case->function(run);
}

void kit_run_case(struct kit_run *run)
{
    run_under(run, run->target->options);
    if ((run->contract_case->flags & KIT_ONCE) != 0 || run->target->pinned) {
        return;
    }
    /* One option at a time, through values small enough that boundaries come often. */
    for (size_t i = 0; i < tl_option_count(run->target->algo); i++) {
        uint64_t values[KIT_CANDIDATES_MAX];
        size_t count = kit_option_candidates(&run->target->algo->options[i], values);
        /* Of the larger values every third will do. */
        for (size_t k = 0; k < count && !run->witness->unavailable; k += k < 5 ? 1 : 3) {
            TL_OPTION_VALUES(options);
            memcpy(options, run->target->options, sizeof options);
            const struct tl_option *option = &run->target->algo->options[i];
            if (tl_option_number(option, options) != values[k]) {
                tl_option_set_number(option, options, values[k]);
                run_under(run, options);
            }
        }
    }
}
