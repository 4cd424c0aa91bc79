/*
 * kit_cases.h: the contract cases. Each is a script about one promise in a file of cases/; the judge
 * (kit_subject.h) compares the result of every call with the model. kit_cases.c has the list.
 */
#ifndef SIM_KIT_CASES_H
#define SIM_KIT_CASES_H

#include "kit_subject.h"

/* Run the case under the options of the run. */
typedef void kit_case_fn(struct kit_run *run);

kit_case_fn case_create, case_empty, case_destroy_pending, case_two_instances,
    case_several_instances, case_deadline_near, case_boundaries, case_boundaries_together,
    case_deadline_far, case_announced, case_restart, case_stop_idle, case_stop_pending,
    case_reused_id, case_callback_self, case_callback_others, case_callback_same_tick,
    case_callback_again, case_callback_mixed, case_budget, case_budget_left_over,
    case_budget_callback, case_advance_mixed, case_advance_jump, case_long_idle, case_precision,
    case_next, case_next_drive, case_next_turn, case_order, case_fifo, case_refused, case_full,
    case_horizon, case_options_ends, case_reserve_grows, case_reserve_word, case_allocation_failure,
    case_memory_guard, case_memory_pages, case_memory_sizes, case_memory_in_sight,
    case_memory_bounded, case_many_one_tick, case_many_exactly, case_many_churn, case_many_reserved,
    case_callback_crowd, case_long_life, case_number_again, case_records, case_records_moved,
    case_records_beside, case_records_none, case_records_alike, case_records_contract, case_small,
    case_invariants, case_counters, case_undisturbed, case_cost, case_span, case_determinism,
    case_two_threads, case_concurrent_steps, case_concurrent_stress;

#endif
