# varying.awk: the knobs of a sweep that were turned: columns p_* with several values, all numbers; or,
# with fixed=1, the other columns p_*. Seeds are only repetitions.
#   awk -f csv.awk -f varying.awk FILE.csv [fixed=1]

BEGIN {
    csv_settings(given)
}
FNR == 1 {
    width = csv_split($0, names)
    next
}
{
    csv_split($0, field)
    for (i = 1; i <= width; i++) {
        if (names[i] !~ /^p_/) {
            continue
        }
        if (field[i] !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/) {
            words[i] = 1
        }
        if (!((i, field[i]) in seen)) {
            seen[i, field[i]] = 1
            values[i]++
        }
    }
}
END {
    for (i = 1; i <= width; i++) {
        if (names[i] ~ /^p_/) {
            turned = values[i] > 1 && !words[i] && names[i] != "p_seed"
            if (turned != given["fixed"] + 0) {
                print names[i]
            }
        }
    }
}
