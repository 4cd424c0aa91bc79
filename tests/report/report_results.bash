# report_results.bash: results that are made up, so that it is known what a report of them must say. For
# tests, which source it.
# shellcheck shell=bash

# made_up_results FOLDER SETTING...: rows of three structures and a yardstick. A SETTING is jq code that
# changes the rows.
made_up_results() {
    local folder=$1 change
    shift
    mkdir -p "$folder"
    printf '[{"name": "idle-one", "capabilities": ["baseline"]},
             {"name": "quick", "capabilities": []}, {"name": "middling", "capabilities": []},
             {"name": "slow:one|two", "capabilities": []}]' >"$folder/structures.json"
    change=$(printf '| %s ' "$@")
    jq -n "
        def row(\$algo; \$options; \$ns): {trace: \"some/where/day.one.trace\", algo: \$algo,
            options: \$options, status: \"ok\", events: 1234567, starts: 700000, restarts: 300000,
            stops: 234567, fired: 400000, drained: 5, averted: 0, early: 0, late_beyond: 0, lost: 0,
            duplicate: 0, misordered: 0, lateness_min: 0, lateness_p50: 0, lateness_p99: 0,
            lateness_max: 0, ns_per_event: \$ns, ns_per_event_mad: 1, events_per_s: (1e9 / \$ns),
            floor_ns_per_event: 5, runs: 7, start_p50_ns: 10, start_p90_ns: 20, start_p99_ns: 1500,
            start_p999_ns: 2000000, start_p9999_ns: 3e9, start_max_ns: 4e9,
            stall_ns: (\$ns * 1000), wakeups: 70, idle_wakeups: 7, wakeups_per_fired: 0.5,
            bytes_fixed: 10, bytes_per_timer: (\$ns / 2), bytes_peak: 5000000, bytes_drained: 10,
            n_compares: 1, n_moves: 2, n_slots: 3, n_cascades: 4, n_allocs: 5, reason: \"\"};
        [row(\"idle-one\"; \"\"; 5), row(\"middling\"; \"size=3\"; 60), row(\"quick\"; \"\"; 40),
         row(\"slow:one|two\"; \"\"; 5000)]
        ${change}
        | map(if (has(\"samples\") | not) and .ns_per_event then .samples.ns_per_event =
            [range(.runs) as \$k | .ns_per_event + (\$k * 7 % 5) / 100] else . end)
        | {schema: 1, context: {version: \"1\", command_line: [\"a\", \"b\"]}, rows: .}" \
        >"$folder/results.json" || return 1
    jq -r '(.rows[0] | del(.samples) | keys_unsorted) as $names | $names,
        (.rows[] | [.[$names[]]]) | @csv' "$folder/results.json" | tr -d '"' >"$folder/results.csv"
}

# made_up_latency FOLDER: curves of a single operation, for three of the structures.
made_up_latency() {
    local algo percentile
    {
        printf 'trace,algo,options,op,percentile,latency_ns,count\n'
        for algo in idle-one quick middling; do
            for percentile in 0 50 99 99.9 100; do
                printf 'some/where/day.one.trace,%s,,start,%s,%s,9\n' "$algo" "$percentile" 12
            done
        done
    } >"$1/latency.csv"
}

# made_up_work FOLDER: work over 200 stretches of 4 ticks for three of the structures; one has a spike at
# tick 402, another does nothing from tick 400 on.
made_up_work() {
    awk 'BEGIN {
        print "trace,algo,options,from_tick,to_tick,fired,n_compares,n_moves,n_slots,n_cascades," \
            "work_per_tick,operations_work,worst_tick,worst_work,worst_cascades,worst_fired"
        split("idle-one quick middling", names, " ")
        for (k = 1; k <= 3; k++) {
            for (from = 0; from < 800; from += 4) {
                spike = k == 2 && from == 400
                work = spike ? 1000 : k == 1 && from >= 400 ? 0 : 8 * k
                printf "some/where/day.one.trace,%s,,%d,%d,2,0,%d,0,0,%g,5,%d,%d,%d,1\n", names[k], from,
                    from + 3, work, work / 4, spike ? 402 : from, spike ? 990 : work / 2, spike ? 980 : 0
            }
        }
    }' >"$1/work.csv"
}
