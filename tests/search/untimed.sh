# shellcheck shell=bash
# untimed FOLDER: a sweep's two tables without times, and without who wrote them and when
untimed() {
    jq 'del(.context.command_line, .context.date, .context.clock_overhead_ns)
        | .rows |= map(with_entries(select(.key | test("_ns$|ns_per_event|per_s$|samples") | not)))' \
        "$1/results.json"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) timed[i] = $i ~ /_ns$|ns_per_event|per_s$/ }
        { line = ""; for (i = 1; i <= NF; i++) if (!timed[i]) line = line "," $i; print line }' "$1/results.csv"
}
