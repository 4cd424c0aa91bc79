# report.jq: results as a page of Markdown. Called by scripts/report, which sets
#   $results     results.json: {context, rows}, or null
#   $bench       bench.csv as text, or ""
#   $faults      faults.csv as text, or ""
#   $structures  'timerlab list --format json', or []
#   $pictures    names of pictures without their endings
#   $commands    the command lines, as text
# No structure is named here: a baseline is known by its capability.

# --- figures as text --------------------------------------------------------------------------

def minus: if . < 0 then -. else . end;
def fixed($places):
    (pow(10; $places)) as $scale | (. * $scale | round) as $whole
    | if $places == 0 then "\($whole)"
      else ($whole | minus) as $size
        | (if $whole < 0 then "-" else "" end)
          + "\(($size / $scale) | floor)."
          + (("000000" + "\($size % $scale)")[-$places:])
      end;
def grouped:
    if . == null then "-"
    else (round | tostring) | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",") end;
# Three digits that count.
def figure:
    if . == null then "-"
    elif minus >= 999.5 then grouped
    elif minus >= 99.95 then fixed(0)
    elif minus >= 9.995 then fixed(1)
    elif . == 0 then "0"
    else fixed(2) end;
def duration:
    if . == null then "-"
    elif . < 1e3 then "\(figure) ns"
    elif . < 1e6 then "\(. / 1e3 | figure) µs"
    elif . < 1e9 then "\(. / 1e6 | figure) ms"
    else "\(. / 1e9 | figure) s" end;
def size:
    if . == null then "-"
    elif . < 1e3 then "\(figure) B"
    elif . < 1e6 then "\(. / 1e3 | figure) kB"
    elif . < 1e9 then "\(. / 1e6 | figure) MB"
    else "\(. / 1e9 | figure) GB" end;
def rate:
    if . == null then "-"
    elif . >= 1e6 then "\(. / 1e6 | figure) million"
    elif . >= 1e3 then "\(. / 1e3 | figure) thousand"
    else figure end;
def times($base): if . == null or $base == null or $base == 0 then "-" else "\(. / $base | figure)" end;
def plural($one; $many): if . == 1 then $one else $many end;
def listed:
    if length == 0 then "none" elif length == 1 then .[0]
    else (.[:-1] | join(", ")) + " and " + .[-1] end;
def code: "`\(.)`";
def cell: tostring | gsub("\\|"; "\\|") | gsub("\n"; " ");
# An array of headings and an array of rows; the first column is text, the others are figures.
def table($headings):
    ["| " + ($headings | map(cell) | join(" | ")) + " |",
     "|---|" + ($headings[1:] | map("--:|") | join(""))]
    + map("| " + (map(cell) | join(" | ")) + " |") | join("\n");

# --- data -------------------------------------------------------------------------------------

# One line of CSV.
def csv_fields:
    [scan("(?:^|,)(?:\"((?:[^\"]|\"\")*)\"|([^,\"]*))")
     | if .[0] != null then .[0] | gsub("\"\""; "\"") else .[1] // "" end];
def csv_rows:
    split("\n") | map(rtrimstr("\r")) | map(select(length > 0)) | if length == 0 then [] else
        (.[0] | csv_fields) as $names
        | .[1:] | map(csv_fields as $fields
            | reduce range($names | length) as $i ({}; .[$names[$i]] = ($fields[$i] // "")))
    end;
def number_or_null: if . == null or . == "" then null else (tonumber? // null) end;

def series: if (.options // "") == "" then .algo else "\(.algo):\(.options)" end;
def baselines: $structures | map(select(.capabilities | index("baseline")) | .name);
def contender: .algo as $algo | (baselines | index([$algo])) == null;
# The series in a table; a yardstick in italics.
def row_name: if contender then series | code else "*\(series | code)*" end;

# Two measured rows differ if both have at least five runs, and their medians are further apart than
# three times their spreads (median absolute deviations) together.
def differ($a; $b):
    ([$a.runs, $b.runs] | min) >= 5
    and (($a.value - $b.value) | minus) > 3 * (($a.spread // 0) + ($b.spread // 0));

# A trace by its file's name; and as plots/draw calls it in the names of pictures.
def base: split("/") | last;
def picture_ending: base | sub("\\.[^.]*$"; "") | "-" + gsub("[^A-Za-z0-9._-]"; "_");

# --- verdicts ---------------------------------------------------------------------------------

# Where a row stands among all by a figure of which less is better: "24.0 ns (the least of 4)", or
# "24.0 ns (the least: 12.0 ns, `other`)".
def standing($rows; $column; text):
    .[$column] as $mine
    | ($rows | map(select(.[$column] != null)) | sort_by(.[$column])) as $sorted
    | if $mine == null then "not measured"
      elif ($sorted | length) < 2 then ($mine | text)
      elif $sorted[0][$column] == $sorted[-1][$column] then "\($mine | text) (like all of them)"
      elif $mine <= $sorted[0][$column] then "\($mine | text) (the least of \($sorted | length))"
      else "\($mine | text) (the least: \($sorted[0][$column] | text), \($sorted[0] | series | code))"
      end;

def ticks: "\(grouped) \(plural("tick"; "ticks"))";
def lateness_words:
    if .lateness_min == null then "no timer fired, so there is none"
    elif .lateness_min == 0 and .lateness_max == 0 then "every timer fired on its due tick"
    else
        "timers fired "
        + ([(select(.lateness_min < 0) | "up to \(-.lateness_min | ticks) early"),
            (select(.lateness_max > 0) | "up to \(.lateness_max | ticks) late")] | join(" and "))
    end;

# The first sentence: who is the fastest, of all that ran.
def winner($rows; $equals):
    . as $first
    | if ($rows | length) == 1 then "Only \(series | code) ran this trace: "
      elif $equals == [] then "**\(series | code) is the fastest**: "
      else
        "**Cannot tell which is the fastest of "
        + ([$first] + $equals
            | map("\(series | code) (\(.value | figure) ± \(.spread | figure) ns)") | listed) + "**"
        + (if ([$rows[].runs] | min) < 5 then " (it takes five runs)"
           else " (they differ by no more than the spread of the runs)" end)
        + ". The smallest median is that of \(series | code): "
      end
      + "\(.value | figure) ns per event, \(.events_per_s | rate) events per second"
      + (if .floor_ns_per_event == null then ""
         else "; \(.floor_ns_per_event | figure) ns of it is the harness itself" end)
      + ".";

def costs($rows):
    "What \(series | code) costs:\n",
    "- memory: \(standing($rows; "bytes_per_timer"; "\(figure) bytes a timer"));"
        + " at the peak \(standing($rows; "bytes_peak"; size))",
    "- stall, the longest single advance of a run, median of the runs: \(standing($rows; "stall_ns"; duration))",
    "- wakeups: \(standing($rows; "wakeups"; grouped)), of these idle:"
        + " \(standing($rows; "idle_wakeups"; grouped))",
    "- lateness: \(lateness_words)";

# What the rows of one trace say.
def verdict:
    map(select(.status == "ok" and contender and .ns_per_event != null)
        | . + {value: .ns_per_event, spread: .ns_per_event_mad})
    | sort_by(.value) as $rows
    | if $rows == [] then "No structure ran this trace to its end without a fault."
      else
        $rows[0] as $first
        | ($rows[1:] | map(select(differ($first; .) | not))) as $equals
        | ($rows[1:] | map(select(differ($first; .)))) as $slower
        | ($first | winner($rows; $equals)),
          (if $slower == [] then empty else
            "Time per event compared with it: "
            + ($slower | map("\(series | code) \(.value | times($first.value)) times") | listed)
            + "." end),
          ([$first | costs($rows)] | join("\n"))
      end;

# Of one operation, with one number of timers.
def fastest_of_size:
    sort_by(.value) as $sorted
    | $sorted[0] as $first
    | ($sorted[1:] | map(select(differ($first; .) | not))) as $equals
    | "with \($first.n | grouped) timers "
      + if ($sorted | length) < 2 then "only \($first | series | code) was measured"
        elif ($equals | length) > 0 then
            "cannot tell \([$first] + $equals | map(series | code) | listed) apart"
        else
            "\($first | series | code) (\($first.value | figure) ns; the next, "
            + "\($sorted[1] | series | code), takes \($sorted[1].value | times($first.value)) times"
            + " as long)"
        end;

def bench_verdict:
    map(select(contender and .value != null)) as $rows
    | ($rows | map(.runs) | min) as $runs
    | if $rows == [] then "Nothing was measured."
      elif $runs < 5 then "Cannot tell: it takes five runs, and here are \($runs)."
      else
        "The fastest, by operation:\n\n"
        + ($rows | map(.op) | reduce .[] as $op ([]; if index([$op]) then . else . + [$op] end)
            | map(. as $op | "- \($op): "
                + ($rows | map(select(.op == $op)) | group_by(.n)
                    | if length > 1 then [.[0], .[-1]] else . end
                    | map(fastest_of_size) | join("; ")))
            | join("\n"))
      end;

# --- tables -----------------------------------------------------------------------------------

def by_speed: sort_by(if .ns_per_event == null then infinite else .ns_per_event end);

def throughput_table:
    (map(select(.status == "ok" and contender and .ns_per_event != null) | .ns_per_event) | min) as $best
    | by_speed | map([row_name, .status, (.ns_per_event | figure), (.ns_per_event_mad | figure),
        (.ns_per_event | times($best)), (.events_per_s | grouped), (.runs | grouped)])
    | table(["structure", "status", "ns per event", "MAD", "× fastest", "events per second", "runs"]);

def latency_row($op):
    . as $row
    | [row_name, $op]
      + (["p50", "p90", "p99", "p999", "p9999", "max"] | map($row["\($op)_\(.)_ns"] | duration));
def latency_table:
    by_speed as $rows
    | [("start", "restart", "stop", "advance") as $op
        | $rows[] | select(.["\($op)_p50_ns"] != null) | latency_row($op)]
    | if . == [] then "Not measured."
      else
        table(["structure", "operation", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "longest"])
      end;

def memory_table:
    by_speed | map(select(.bytes_per_timer != null)
        | [row_name, (.bytes_per_timer | figure),
           ((.bytes_fixed, .bytes_peak, .bytes_drained) | size), (.n_allocs | grouped)])
    | table(["structure", "bytes per timer", "fixed", "peak", "after draining", "allocations"]);

def wakeups_table:
    by_speed | map(select(.wakeups != null)
        | [row_name, (.stall_ns | duration), (.wakeups, .idle_wakeups | grouped),
           (.wakeups_per_fired | figure),
           ([.lateness_min, .lateness_p50, .lateness_p99, .lateness_max]
                | map(if . == null then "-" else tostring end) | join(" / ")),
           (.averted | grouped)])
    | table(["structure", "stall", "wakeups", "idle", "per fired timer",
             "lateness in ticks: least / 50 % / 99 % / most", "averted"]);

def work_table:
    by_speed | map(select(.n_moves != null)
        | [row_name, (.fired, .drained, .n_compares, .n_moves, .n_slots, .n_cascades | grouped)])
    | table(["structure", "fired", "drained", "compares", "moves", "slots", "cascades"]);

def bench_table:
    . as $rows
    | (map(.n) | unique) as $sizes
    | (reduce (.[] | [.op, row_name]) as $key ([]; if index([$key]) then . else . + [$key] end))
    | map(. as [$op, $name]
        | [$name, $op] + ($sizes | map(. as $n
            | [$rows[] | select(.op == $op and row_name == $name and .n == $n)][0]
            | if .value == null then "-" else "\(.value | figure) ± \(.spread | figure)" end)))
    | table(["structure", "operation"] + ($sizes | map("\(grouped) timers")));

# --- faults -----------------------------------------------------------------------------------

# Kinds of faults with their counts, as text; those that occurred.
def fault_counts:
    [to_entries[]
        | select(.key | IN("early", "late_beyond", "lost", "duplicate", "misordered"))
        | select(.value != null and .value != 0)
        | "\(.key | gsub("_"; " ")): \(.value)"];

def faults($bench_rows):
    map(fault_counts as $counts
        | select(.status != "ok" or $counts != [])
        | "- \(.trace | base): \(row_name): **\(.status)**"
          + (if (.reason // "") == "" then "" else ": \(.reason)" end)
          + (if $counts == [] then "" else " (\($counts | join(", ")))" end))
    + ($bench_rows | map(select(.value == null or .error != "")
        | "- single operations: \(row_name), \(.op) with \(.n | grouped) timers: **not measured**"
          + (if .error == "" then "" else ": \(.error)" end)))
    | if . == [] then "None: every structure ran everything, and every fired timer was checked."
      else join("\n") end;

# What the oracle found, as faults.csv names it.
def fault_table:
    length as $all
    | (.[:20]
        | map([row_name, (.trace | base), .fault, .timer, .tick, .due, .event, .detail])
        | table(["structure", "trace", "fault", "timer", "tick", "due", "event", "detail"])),
      (select($all > 20)
        | "These are the first 20 of \($all); all are in [faults.csv](faults.csv).");

# Exact structures have to fire the same timers at the same ticks: one line for each trace.
def agreement:
    map(select(.exact)) | group_by(.trace)
    | map(length as $count
        | (map(.digest) | unique | length) as $sets
        | "- \(.[0].trace | base): "
          + if $count == 1 then "one exact structure, and none to compare it with"
            elif $sets == 1 then "\($count) exact structures fired the same timers at the same ticks"
            else "**\($count) exact structures fired \($sets) different sets of timers**" end)
    | join("\n");

def picture: "![\(.)](pictures/\(.).png)\n\n[SVG](pictures/\(.).svg), [data](pictures/\(.).csv)";

def context:
    (if .command_line | type == "array" then .command_line |= join(" ") else . end) | del(.fired_sets)
    | [paths(scalars) as $path
        | "| \($path | map(tostring) | join(".")) | \(getpath($path) | cell) |"]
    | ["| | |", "|---|---|"] + . | join("\n");

# --- the page ---------------------------------------------------------------------------------

def rules:
    "Structures in italics in the tables are yardsticks, not contenders. A difference counts if both "
    + "sides have at least five runs, and their medians are further apart than three times their "
    + "spreads (median absolute deviations, MAD) together; otherwise the words are \"cannot tell\". "
    + "Stall, memory and wakeups have no spread beside them; a stall can also be the machine's own.";

# One trace, with its rows: tables and pictures.
def trace_section($trace):
    "## \($trace | base)",
    "\(.[0].events | grouped) operations: \(.[0].starts | grouped) starts, "
        + "\(.[0].restarts | grouped) restarts, \(.[0].stops | grouped) stops.",
    "### Throughput", throughput_table,
    "### Latency of single operations", latency_table,
    "### Memory", memory_table,
    "### Stall, wakeups, lateness", wakeups_table,
    "### Work, counted", work_table,
    ($pictures[] | select(endswith($trace | picture_ending)) | picture);

($results.rows // []) as $rows
| ($bench | csv_rows
    | map(.n = (.n | number_or_null)
        | .value = (.ns_per_op | number_or_null)
        | .spread = (.ns_per_op_mad | number_or_null)
        | .runs = (.runs | number_or_null)
        | .error = (.error // ""))) as $bench_rows
| (reduce $rows[].trace as $trace ([]; if index([$trace]) then . else . + [$trace] end)) as $traces
| def rows_of($trace): $rows | map(select(.trace == $trace));
  [
    "# Which timer structure?",
    "## In words",
    (if $rows == [] then "There are no results of a simulation here." else empty end),
    ($traces[] as $trace | "### \($trace | base)", (rows_of($trace) | verdict)),
    (if $bench_rows == [] then empty
     else "### One operation at a time", ($bench_rows | bench_verdict) end),
    rules,
    "## Faults, and what did not run",
    ($rows | faults($bench_rows)),
    ($results.context.fired_sets // [] | agreement | select(length > 0)),
    ($faults | csv_rows | select(. != []) | fault_table),
    ($traces[] as $trace | rows_of($trace) | trace_section($trace)),
    (if $bench_rows == [] then empty
     else
        "## One operation at a time", "ns per operation, median and MAD.",
        ($bench_rows | bench_table)
     end),
    # Pictures of no trace.
    ($pictures[] | select(. as $name | all($traces[]; . as $trace
        | $name | endswith($trace | picture_ending) | not)) | picture),
    "## How it was measured",
    ($results.context // {} | context),
    (if $commands == "" then empty
     else "## The same again", "```sh\n\($commands | rtrimstr("\n"))\n```" end)
  ]
| join("\n\n")
