/*
 * kit_cases.h: the one list of the contract cases. Each is a script about one promise: it says what
 * to do, and the judge (kit_subject.h) says after every call whether that is what had to happen.
 * They stand in cases/, in a file for each kind of promise.
 */
#ifndef SIM_KIT_CASES_H
#define SIM_KIT_CASES_H

#include "kit_run.h"

/* X(name, group, what it asserts, capabilities that it needs, not under other options, function) */
#define KIT_CASE_MAP(X)                                                                            \
    X("create", "life", "makes and destroys structures of any capacity, 0 included", 0, false,     \
      case_create)                                                                                 \
    X("empty", "life", "with nothing pending nothing fires, and next says never", 0, false,        \
      case_empty)                                                                                  \
    X("destroy-pending", "life", "destroy frees everything while timers are pending", 0, false,    \
      case_destroy_pending)                                                                        \
    X("two-instances", "life", "two structures side by side know nothing of each other", 0, false, \
      case_two_instances)                                                                          \
    X("several-instances", "life",                                                                 \
      "six that differ in options, size and clock know nothing of each other", 0, true,            \
      case_several_instances)                                                                      \
    X("behaved", "life", "hooks return, print nothing and never end the process", 0, true,         \
      case_behaved)                                                                                \
    X("deadline-now", "deadlines", "a deadline that is now fires in the next advance", 0, false,   \
      case_deadline_now)                                                                           \
    X("deadline-past", "deadlines", "a deadline in the past fires in the next advance", 0, false,  \
      case_deadline_past)                                                                          \
    X("deadline-next", "deadlines", "a deadline one tick ahead fires then", 0, false,              \
      case_deadline_next)                                                                          \
    X("boundaries", "deadlines",                                                                   \
      "single timers at and around k*slot, k*span and powers fire in their time", 0, false,        \
      case_boundaries)                                                                             \
    X("boundaries-together", "deadlines", "the same, all pending at once", 0, false,               \
      case_boundaries_together)                                                                    \
    X("deadline-far", "deadlines",                                                                 \
      "deadlines from 2^20 to 2^63 are refused or fire in their time", 0, false,                   \
      case_deadline_far)                                                                           \
    X("announced", "deadlines", "the longest delay announced, and its neighbours, fire in time",   \
      0, false, case_announced)                                                                    \
    X("restart-earlier", "restart",                                                                \
      "a pending timer moved to an earlier deadline fires then, once", 0, false,                   \
      case_restart_earlier)                                                                        \
    X("restart-later", "restart", "a pending timer moved to a later deadline fires then, once", 0, \
      false, case_restart_later)                                                                   \
    X("restart-same", "restart", "a pending timer started again unchanged fires once", 0, false,   \
      case_restart_same)                                                                           \
    X("restart-heartbeat", "restart", "a timer pushed back again and again fires after the last",  \
      0, false, case_restart_heartbeat)                                                            \
    X("stop-idle", "stop", "stopping a timer that was never started says so and changes nothing",  \
      0, false, case_stop_idle)                                                                    \
    X("stop-pending", "stop", "a stopped timer does not fire, its neighbours do", 0, false,        \
      case_stop_pending)                                                                           \
    X("stop-fired", "stop", "stopping a timer that has fired says so and changes nothing", 0,      \
      false, case_stop_fired)                                                                      \
    X("stop-twice", "stop", "the second stop says so and changes nothing", 0, false,               \
      case_stop_twice)                                                                             \
    X("reused-id", "stop", "stale entries of an id's earlier timer do not affect its next timer",  \
      0, false, case_reused_id)                                                                    \
    X("callback-stop-self", "callbacks", "a timer is not pending inside its own callback", 0,      \
      false, case_callback_stop_self)                                                              \
    X("callback-restart-self", "callbacks", "a callback may start its own timer again", 0, false,  \
      case_callback_restart_self)                                                                  \
    X("callback-restart-now", "callbacks",                                                         \
      "a timer that a callback starts for now or the past fires in the next advance, not in this " \
      "one",                                                                                       \
      0, false, case_callback_restart_now)                                                         \
    X("callback-start-other", "callbacks", "a callback may start other timers", 0, false,          \
      case_callback_start_other)                                                                   \
    X("callback-stop-other", "callbacks",                                                          \
      "a timer that a callback stops does not fire, due or not", 0, false,                         \
      case_callback_stop_other)                                                                    \
    X("callback-restart-other", "callbacks",                                                       \
      "a timer that a callback moves fires at its new deadline only", 0, false,                    \
      case_callback_restart_other)                                                                 \
    X("callback-same-tick", "callbacks",                                                           \
      "callbacks may stop, move and start timers that are due at the same tick", 0, false,         \
      case_callback_same_tick)                                                                     \
    X("callback-again", "callbacks",                                                               \
      "a timer that its callback restarts again and again fires each time, in its turn", 0, false, \
      case_callback_again)                                                                         \
    X("callback-mixed", "callbacks", "callbacks may start, move and stop at random", 0, false,     \
      case_callback_mixed)                                                                         \
    X("budget", "budget", "no more fire than the budget says, and the rest follow", TL_CAP_BUDGET, \
      false, case_budget)                                                                          \
    X("budget-left-over", "budget",                                                                \
      "a timer left over by a budget is pending: it can be stopped or moved", TL_CAP_BUDGET,       \
      false, case_budget_left_over)                                                                \
    X("budget-callback", "budget", "budget and callbacks that start, move and stop go together",   \
      TL_CAP_BUDGET, false, case_budget_callback)                                                  \
    X("advance-by-one", "time", "tick by tick, every timer fires in its time", 0, false,           \
      case_advance_by_one)                                                                         \
    X("advance-irregular", "time", "in steps of any length, every timer fires in its time", 0,     \
      false, case_advance_irregular)                                                               \
    X("advance-stay", "time",                                                                      \
      "an advance that does not move the clock fires the due timers, once", 0, false,              \
      case_advance_stay)                                                                           \
    X("advance-jump", "time",                                                                      \
      "jumps of 2^10 to 2^40 ticks fire the timers that they pass, and no others", 0, false,       \
      case_advance_jump)                                                                           \
    X("long-idle", "time", "after long times without timers all is as before", 0, false,           \
      case_long_idle)                                                                              \
    X("wrap", "time", "many turns of every wheel change nothing", 0, false, case_wrap)             \
    X("precision", "time", "no timer is earlier or later than declared for its delay", 0, false,   \
      case_precision)                                                                              \
    X("next", "next", "next is never after the next expiry, and exactly that if promised",         \
      TL_CAP_NEXT, false, case_next)                                                               \
    X("next-drive", "next", "driven by next alone, next grows and every timer fires in its time",  \
      TL_CAP_NEXT, false, case_next_drive)                                                         \
    X("next-turn", "next",                                                                         \
      "timers that descend several levels of a wheel at once are not overlooked", TL_CAP_NEXT,     \
      false, case_next_turn)                                                                       \
    X("order", "order", "within one advance timers fire in order of due tick", TL_CAP_ORDERED,     \
      false, case_order)                                                                           \
    X("fifo", "order", "timers of one due tick fire in the order of their starts", TL_CAP_FIFO,    \
      false, case_fifo)                                                                            \
    X("refused", "refusals",                                                                       \
      "a refused start changes nothing, and leaves a pending timer as it was", 0, false,           \
      case_refused)                                                                                \
    X("full", "refusals", "a start refused for being full changes nothing, and room comes back",   \
      TL_CAP_REFUSES, false, case_full)                                                            \
    X("horizon", "refusals",                                                                       \
      "a deadline nearer than an accepted one is accepted too, at any time", 0, false,             \
      case_horizon)                                                                                \
    X("options-ends", "refusals", "every option works, or is refused, at both ends of its range",  \
      0, true, case_options_ends)                                                                  \
    X("reserve-grows", "memory", "reserve makes new ids usable and leaves pending timers alone",   \
      0, false, case_reserve_grows)                                                                \
    X("reserve-word", "memory", "after reserve, no start fails for want of memory", 0, false,      \
      case_reserve_word)                                                                           \
    X("no-allocation", "memory", "hooks allocate only where the structure says so", 0, false,      \
      case_no_allocation)                                                                          \
    X("allocation-failure", "memory", "a refused allocation anywhere is reported and undone", 0,   \
      false, case_allocation_failure)                                                              \
    X("memory-guard", "memory", "nothing outside its own memory is written or freed", 0, false,    \
      case_memory_guard)                                                                           \
    X("memory-pages", "memory", "nothing outside its own memory is read, or after it was freed",   \
      0, false, case_memory_pages)                                                                 \
    X("memory-sizes", "memory", "room for more timers than there is memory for is refused", 0,     \
      true, case_memory_sizes)                                                                     \
    X("memory-in-sight", "memory", "all memory comes from the allocator, and goes back", 0, true,  \
      case_memory_in_sight)                                                                        \
    X("memory-bounded", "memory", "a few timers restarted for ever need no more and more memory",  \
      0, true, case_memory_bounded)                                                                \
    X("many-one-tick", "large", "very many timers due at one tick fire, within the budget", 0,     \
      true, case_many_one_tick)                                                                    \
    X("many-exactly", "large", "2^8, 2^12, 2^15 and 2^16 timers are as right as one more or less", \
      0, true, case_many_exactly)                                                                  \
    X("many-restarted", "large", "very many timers are restarted, some stopped, the rest fires",   \
      0, true, case_many_restarted)                                                                \
    X("many-churn", "large", "with thousands pending, every operation and next are right", 0,      \
      true, case_many_churn)                                                                       \
    X("many-reserved", "large",                                                                    \
      "reserve grows from one timer to very many while they are pending", 0, true,                 \
      case_many_reserved)                                                                          \
    X("many-destroyed", "large", "destroy frees everything while very many are pending", 0, true,  \
      case_many_destroyed)                                                                         \
    X("callback-crowd", "large", "thousands of callbacks of one advance may start, move and stop", \
      0, true, case_callback_crowd)                                                                \
    X("long-life", "large", "one instance is right for more than 2^17 starts, expiries and stops", \
      0, true, case_long_life)                                                                     \
    X("number-again", "large", "a start does not act for one of 2^8, 2^16 or 2^17 starts before",  \
      0, true, case_number_again)                                                                  \
    X("records", "embedded",                                                                       \
      "timers may lie in a caller's records, of any size, anywhere in them", KIT_NEEDS_RECORDS,    \
      false, case_records)                                                                         \
    X("records-moved", "embedded", "when the records have moved, all is where they are now",       \
      KIT_NEEDS_RECORDS, false, case_records_moved)                                                \
    X("records-beside", "embedded",                                                                \
      "of the records nothing but its own bytes is written, and nothing around them read",         \
      KIT_NEEDS_RECORDS, true, case_records_beside)                                                \
    X("records-none", "embedded", "the build that takes records does without them, too",           \
      KIT_NEEDS_RECORDS, false, case_records_none)                                                 \
    X("records-alike", "embedded", "timers fire alike, wherever they lie", KIT_NEEDS_RECORDS,      \
      false, case_records_alike)                                                                   \
    X("records-contract", "embedded", "the assertions of the other cases hold with records, too",  \
      KIT_NEEDS_RECORDS, true, case_records_contract)                                              \
    X("small-cases", "small", "all short sequences of operations on few timers, state by state",   \
      0, true, case_small)                                                                         \
    X("invariants", "inside", "the structure's own check and walk agree with the operations", 0,   \
      false, case_invariants)                                                                      \
    X("counters", "inside",                                                                        \
      "the counters of work done only grow, not absurdly, and each structure has its own", 0,      \
      true, case_counters)                                                                         \
    X("undisturbed", "inside", "calls that only ask change nothing, nor does counting", 0, false,  \
      case_undisturbed)                                                                            \
    X("cost", "inside", "the work counted grows with the timers as the descriptor says", 0, true,  \
      case_cost)                                                                                   \
    X("determinism", "inside", "equal operations give equal results, whatever memory held before", \
      0, false, case_determinism)                                                                  \
    X("two-threads", "threads",                                                                    \
      "two threads, each with an instance of its own, do not affect each other at any moment", 0,  \
      true, case_two_threads)

#define KIT_CASE_FUNCTION(name, group, asserts, needs, once, function)                             \
    void function(struct kit_run *run);
KIT_CASE_MAP(KIT_CASE_FUNCTION)
#undef KIT_CASE_FUNCTION

#endif
