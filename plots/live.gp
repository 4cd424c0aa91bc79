# live.gp: the results of `timerlab live`: wakeups for timers, share of a processor, and how late timers fired, for each
# structure and drive. See style.gp for the data, which is live.csv; lateness.csv is in the same folder.
# Columns of live.csv: algo options drive timer_wakeups_per_second idle_wakeups_per_second
# cpu_percent; of lateness.csv: algo options drive share lateness_us
late = data[:strlen(data) - strlen("live.csv")]."lateness.csv"
stats data using 0 nooutput
rows = int(STATS_records)
ROW = 26
KEY_COLUMNS = 2
key_height = 20 * ceil(rows / (1.0 * KEY_COLUMNS)) + 30
curves = fitted(290, 1, 2 * (rows * ROW + 95) + 110 + key_height)
height = 2 * (rows * ROW + 95) + 110 + curves + key_height
share(pixels) = 1.0 - pixels / (1.0 * height)
SLEEP = 0x2a78d6
POLL = 0xeb6834
name(algo, options, drive) = algo.(strlen(options) > 0 ? ":".options : "").", ".drive
array NAMES[rows]
longest = 0
keep(i, text) = (NAMES[i] = text, longest = strlen(text) > longest ? strlen(text) : longest, 0)
stats data using (keep(int($0) + 1, name(strcol("algo"), strcol("options"), strcol("drive")))) nooutput
names_share = left_margin(longest)
latest = 0
stats late using (latest = column("lateness_us") > latest ? column("lateness_us") : latest) nooutput
tint(drive) = drive eq "sleep" ? SLEEP : POLL

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    # As it was before the first terminal's picture.
    reset
    set datafile separator comma
    set datafile columnheaders
    set datafile commentschars ""
    set multiplot
    set border 3 lc rgb INK
    set tics nomirror textcolor rgb INK
    set grid xtics lc rgb 0xdddddd lw 0.7
    set style fill solid 1.0 noborder
    set boxwidth 0.7
    set key off
    set lmargin screen names_share
    set rmargin screen 0.93

    do for [panel = 0:1] {
        top = 50 + panel * (rows * ROW + 95)
        set tmargin screen share(top)
        set bmargin screen share(top + rows * ROW)
        set yrange [rows - 0.5:-0.5]
        set xrange [0:*]
        set title (panel == 0 ? headed("wakeups for timers in a second (of which for nothing: pale)") : "share of one processor, percent") textcolor rgb INK
        if (panel == 0) {
            plot data using (column("timer_wakeups_per_second") / 2):0:(column("timer_wakeups_per_second") / 2):(0.36):(tint(strcol("drive"))):ytic(name(strcol("algo"), strcol("options"), strcol("drive"))) with boxxyerror lc rgb variable, \
                 data using (column("idle_wakeups_per_second") / 2):0:(column("idle_wakeups_per_second") / 2):(0.30) with boxxyerror lc rgb "#99ffffff", \
                 data using (column("timer_wakeups_per_second")):0:(sprintf(" %.0f", column("timer_wakeups_per_second"))) with labels left textcolor rgb INK
        } else {
            plot data using (column("cpu_percent") / 2):0:(column("cpu_percent") / 2):(0.36):(tint(strcol("drive"))):ytic(name(strcol("algo"), strcol("options"), strcol("drive"))) with boxxyerror lc rgb variable, \
                 data using (column("cpu_percent")):0:(sprintf(" %.1f", column("cpu_percent"))) with labels left textcolor rgb INK
        }
    }

    # How late: every row's distribution, the worst to the right.
    set tmargin screen share(50 + 2 * (rows * ROW + 95))
    set bmargin screen share(height - 60 - key_height)
    set lmargin screen 0.10
    set title "lateness in microseconds, by share of the timers that fired (blue: asleep until the next; orange: every tick)" textcolor rgb INK
    set yrange [*:*]
    set xrange [0:4.2]
    if (latest > 0) { set logscale y } else { set yrange [0:1]; set label 1 "no timer fired late, or none at all" at graph 0.5, 0.5 center textcolor rgb INK }
    set ytics auto
    set xtics ("0" 0, "90 %%" 1, "99 %%" 2, "99.9 %%" 3, "99.99 %%" 4)
    set grid ytics
    mark = 0
    x(share) = share >= 0.99995 ? NaN : -log10(1 - share)
    set key at screen 0.5, share(height - key_height + 8) center top horizontal maxcols KEY_COLUMNS width 2 samplen 2 textcolor rgb INK
    plot for [i = 0:rows - 1] late using (x(column("share"))):(column("lateness_us") > 0 || latest == 0 ? column("lateness_us") : NaN):(tint(strcol("drive"))) every ::(12 * i)::(12 * i + 11) with linespoints lc rgb variable pt (i + 4) ps 0.7 lw 1.2 title NAMES[i + 1]
    unset multiplot
    unset output
}
