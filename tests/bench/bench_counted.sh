#!/usr/bin/env bash
# timerlab-bench measures the build that counts beside the one that is timed, if it is asked to, and has what the
# processor counts, or says why not.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

bench=$BUILD/bench/timerlab-bench

"$bench" -a round-wheel:slots=64 --counted -n 1000 --benchmark_filter='^restart/' \
    --benchmark_min_time=0 --benchmark_repetitions=1 --benchmark_format=json >"$scratch/bench.json" 2>"$scratch/log"
for name in round-wheel:slots=64 round-wheel-counted:slots=64; do
    jq -e --arg row "restart/$name/" 'any(.benchmarks[]; (.name | startswith($row))
        and .error_occurred != true and .ns_per_op > 0)' "$scratch/bench.json" >"$scratch/log" ||
        { echo "no row restart/$name" >&2 && exit 1; }
done

# Counts an operation where the processor counts; elsewhere none, and the context says why.
jq -e '.context.hardware_counters as $said | .benchmarks[] | select(.run_type == "iteration")
    | if $said | startswith("none: ") then .instructions_per_op == null
      else ($said | startswith("instructions")) and (.instructions_per_op > 0 or .uncounted_share > 0) end' \
    "$scratch/bench.json" >"$scratch/log" || { echo "what the context says of counters is not so" >&2 && exit 1; }
