# What the pages of figures share: docs/tools/speed-page, scripts/standard-1.
def median: sort | length as $n
    | if $n == 0 then null elif $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
def grouped: tostring | if test("^[0-9]{4,}$") then
    [while(. != ""; .[:-3]) | .[-3:]] | reverse | join(",") else . end;
def digits: if . >= 99.5 then round | grouped
    elif . >= 9.95 then . * 10 | round / 10 | tostring
    else . * 100 | round / 100 | tostring end;
def row: "| " + join(" | ") + " |";
# A line of Markdown that tells the machine and the build.
def machine: (.caches | map(select(.type != "Instruction") | "\(.size / 1024 | tostring) KiB")) as $caches
    | "\(.num_cpus) processors of \(.mhz_per_cpu) MHz, \(if $caches == [] then "which do not tell their caches" else
        "caches of \($caches | join(", "))" end), \(.compiler) \(.flags)";
