/*
 * kit_cases.h: the list of the contract cases. Each is a script about one promise in a file of
 * cases/; the judge (kit_subject.h) compares the result of every call with the model.
 */
#ifndef SIM_KIT_CASES_H
#define SIM_KIT_CASES_H

#include "kit_subject.h"

/* X(name, group, assertion, flags, function) */
#define KIT_CASE_MAP(X)                                                                            \
    X("create", "life", "makes and destroys structures of any capacity, 0 included", 0,            \
      case_create)                                                                                 \
    X("empty", "life", "with nothing pending nothing fires, and next says never", 0, case_empty)   \
    X("destroy-pending", "life", "destroy frees everything while timers are pending", 0,           \
      case_destroy_pending)                                                                        \
    X("two-instances", "life", "two structures do not affect each other", 0, case_two_instances)   \
    X("several-instances", "life",                                                                 \
      "six that differ in options, size and clock do not affect each other", KIT_ONCE,             \
      case_several_instances)                                                                      \
    X("deadline-near", "deadlines",                                                                \
      "deadlines that are now, in the past or a tick ahead fire in the next advance to them", 0,   \
      case_deadline_near)                                                                          \
    X("boundaries", "deadlines",                                                                   \
      "single timers at and around k*slot, k*span and powers fire in their time", 0,               \
      case_boundaries)                                                                             \
    X("boundaries-together", "deadlines", "the same, all pending at once", 0,                      \
      case_boundaries_together)                                                                    \
    X("deadline-far", "deadlines",                                                                 \
      "deadlines from 2^20 to 2^63 are refused or fire in their time", 0, case_deadline_far)       \
    X("announced", "deadlines", "the longest delay announced, and its neighbours, fire in time",   \
      0, case_announced)                                                                           \
    X("restart", "restart",                                                                        \
      "a pending timer moved to another deadline, or to the same, fires then, once", 0,            \
      case_restart)                                                                                \
    X("stop-idle", "stop",                                                                         \
      "stopping a timer that is not pending returns TL_IDLE and changes nothing", 0,               \
      case_stop_idle)                                                                              \
    X("stop-pending", "stop", "a stopped timer does not fire, its neighbours do", 0,               \
      case_stop_pending)                                                                           \
    X("reused-id", "stop", "stale entries of an id's earlier timer do not affect its next timer",  \
      0, case_reused_id)                                                                           \
    X("callback-self", "callbacks",                                                                \
      "a callback may stop and restart its own timer, which never fires in the same advance", 0,   \
      case_callback_self)                                                                          \
    X("callback-others", "callbacks",                                                              \
      "a callback may start, move and stop other timers, due or not", 0, case_callback_others)     \
    X("callback-same-tick", "callbacks",                                                           \
      "callbacks may stop, move and start timers that are due at the same tick", 0,                \
      case_callback_same_tick)                                                                     \
    X("callback-again", "callbacks",                                                               \
      "a timer that its callback restarts again and again fires each time, in its turn", 0,        \
      case_callback_again)                                                                         \
    X("callback-mixed", "callbacks", "callbacks may start, move and stop at random", 0,            \
      case_callback_mixed)                                                                         \
    X("budget", "budget", "no more fire than the budget says, and the rest follow", TL_CAP_BUDGET, \
      case_budget)                                                                                 \
    X("budget-left-over", "budget",                                                                \
      "a timer left over by a budget is pending: it can be stopped or moved", TL_CAP_BUDGET,       \
      case_budget_left_over)                                                                       \
    X("budget-callback", "budget", "budget and callbacks that start, move and stop go together",   \
      TL_CAP_BUDGET, case_budget_callback)                                                         \
    X("advance-mixed", "time",                                                                     \
      "tick by tick and in steps of any length, every timer fires in its time", 0,                 \
      case_advance_mixed)                                                                          \
    X("advance-jump", "time",                                                                      \
      "jumps of 2^10 to 2^40 ticks fire the timers that they pass, and no others", 0,              \
      case_advance_jump)                                                                           \
    X("long-idle", "time", "after long times without timers all is as before", 0, case_long_idle)  \
    X("precision", "time", "no timer is earlier or later than declared for its delay", 0,          \
      case_precision)                                                                              \
    X("next", "next", "next is never after the next expiry, and exactly that if promised",         \
      TL_CAP_NEXT, case_next)                                                                      \
    X("next-drive", "next", "driven by next alone, next grows and every timer fires in its time",  \
      TL_CAP_NEXT, case_next_drive)                                                                \
    X("next-turn", "next",                                                                         \
      "timers that descend several levels of a wheel at once are not overlooked", TL_CAP_NEXT,     \
      case_next_turn)                                                                              \
    X("order", "order", "within one advance timers fire in order of due tick", TL_CAP_ORDERED,     \
      case_order)                                                                                  \
    X("fifo", "order", "timers of one due tick fire in the order of their starts", TL_CAP_FIFO,    \
      case_fifo)                                                                                   \
    X("refused", "refusals",                                                                       \
      "a refused start changes nothing, and leaves a pending timer as it was", 0, case_refused)    \
    X("full", "refusals", "a start refused for being full changes nothing, and room comes back",   \
      TL_CAP_REFUSES, case_full)                                                                   \
    X("horizon", "refusals",                                                                       \
      "a deadline nearer than an accepted one is accepted too, at any time", 0, case_horizon)      \
    X("options-ends", "refusals", "every option works, or is refused, at both ends of its range",  \
      KIT_ONCE, case_options_ends)                                                                 \
    X("reserve-grows", "memory", "reserve makes new ids usable and leaves pending timers alone",   \
      0, case_reserve_grows)                                                                       \
    X("reserve-word", "memory", "after reserve, no start fails for want of memory", 0,             \
      case_reserve_word)                                                                           \
    X("allocation-failure", "memory", "a refused allocation anywhere is reported and undone", 0,   \
      case_allocation_failure)                                                                     \
    X("memory-guard", "memory", "nothing outside its own memory is written or freed", 0,           \
      case_memory_guard)                                                                           \
    X("memory-pages", "memory", "nothing outside its own memory is read, or after it was freed",   \
      0, case_memory_pages)                                                                        \
    X("memory-sizes", "memory", "room for more timers than there is memory for is refused",        \
      KIT_ONCE, case_memory_sizes)                                                                 \
    X("memory-in-sight", "memory", "all memory comes from the allocator, and goes back", KIT_ONCE, \
      case_memory_in_sight)                                                                        \
    X("memory-bounded", "memory",                                                                  \
      "the memory of a few timers that are restarted for ever is bounded", KIT_ONCE,               \
      case_memory_bounded)                                                                         \
    X("many-one-tick", "large", "very many timers due at one tick fire, within the budget",        \
      KIT_ONCE, case_many_one_tick)                                                                \
    X("many-exactly", "large",                                                                     \
      "2^7 to 2^17 timers at one tick are as right as drawn numbers between", KIT_ONCE,            \
      case_many_exactly)                                                                           \
    X("many-churn", "large", "with thousands pending, every operation and next are right",         \
      KIT_ONCE, case_many_churn)                                                                   \
    X("many-reserved", "large",                                                                    \
      "reserve grows from one timer to very many while they are pending", KIT_ONCE,                \
      case_many_reserved)                                                                          \
    X("callback-crowd", "large", "thousands of callbacks of one advance may start, move and stop", \
      KIT_ONCE, case_callback_crowd)                                                               \
    X("long-life", "large", "one instance is right for 2^17 to 2^18 starts, expiries and stops",   \
      KIT_ONCE, case_long_life)                                                                    \
    X("number-again", "large",                                                                     \
      "a start does not act for one of 2^8, 2^9, ... or 2^17 starts before", KIT_ONCE,             \
      case_number_again)                                                                           \
    X("records", "embedded",                                                                       \
      "timers may lie in a caller's records, of any size, anywhere in them", KIT_NEEDS_RECORDS,    \
      case_records)                                                                                \
    X("records-moved", "embedded", "when the records have moved, all is where they are now",       \
      KIT_NEEDS_RECORDS, case_records_moved)                                                       \
    X("records-beside", "embedded",                                                                \
      "of the records nothing but its own bytes is written, and nothing around them read",         \
      KIT_NEEDS_RECORDS | KIT_ONCE, case_records_beside)                                           \
    X("records-none", "embedded", "the build that takes records does without them, too",           \
      KIT_NEEDS_RECORDS, case_records_none)                                                        \
    X("records-alike", "embedded", "timers fire alike, wherever they lie", KIT_NEEDS_RECORDS,      \
      case_records_alike)                                                                          \
    X("records-contract", "embedded", "the assertions of the other cases hold with records, too",  \
      KIT_NEEDS_RECORDS | KIT_ONCE, case_records_contract)                                         \
    X("small-cases", "small", "all short sequences of operations on few timers, state by state",   \
      0, case_small)                                                                               \
    X("invariants", "inside", "the structure's own check and walk agree with the operations", 0,   \
      case_invariants)                                                                             \
    X("counters", "inside",                                                                        \
      "the counters of work done only grow, not absurdly, and each structure has its own",         \
      KIT_ONCE, case_counters)                                                                     \
    X("undisturbed", "inside", "calls that only ask change nothing, nor does counting", 0,         \
      case_undisturbed)                                                                            \
    X("cost", "inside", "the work counted grows with the timers as the descriptor says", KIT_ONCE, \
      case_cost)                                                                                   \
    X("determinism", "inside", "equal operations give equal results, whatever memory held before", \
      0, case_determinism)                                                                         \
    X("two-threads", "threads",                                                                    \
      "two threads, each with an instance of its own, do not affect each other at any moment",     \
      KIT_ONCE, case_two_threads)                                                                  \
    X("concurrent-steps", "threads",                                                               \
      "two and three threads, interrupted before any access, leave results of some order",         \
      TL_CAP_CONCURRENT | KIT_ONCE, case_concurrent_steps)                                         \
    X("concurrent-stress", "threads",                                                              \
      "threads that start and stop the same timers while one advances lose and repeat none",       \
      TL_CAP_CONCURRENT | KIT_ONCE, case_concurrent_stress)

#define KIT_CASE_FUNCTION(name, group, asserts, flags, function) void function(struct kit_run *run);
KIT_CASE_MAP(KIT_CASE_FUNCTION)
#undef KIT_CASE_FUNCTION

#endif
