# live.gp: structures under the real clock: wakeups for timers, CPU use, and how late timers fired. See
# style.gp for the data.
# Columns: series drive style (1: sleeps until the next expiry, 2: polled) panel share value; the panels are
# timer_wakeups_per_second idle_wakeups_per_second cpu_percent lateness_us, the last by share of the timers.
value_in(panel) = strcol("panel") eq panel ? column("value") : NaN
key_of(dummy) = strcol("series")."/".strcol("drive")
keys = ""; longest = 0; latest = 0; earliest = 0; array HIGH[2] = [0, 0]
higher(k, panel) = HIGH[k] = strcol("panel") eq panel && number("value") > HIGH[k] ? number("value") : HIGH[k]
stats data using (keys = joined(keys, key_of(0)), \
    longest = strlen(key_of(0)) > longest ? strlen(key_of(0)) : longest, \
    higher(1, "timer_wakeups_per_second"), higher(2, "cpu_percent"), \
    late = strcol("panel") eq "lateness_us" ? number("value") : 0, latest = late > latest ? late : latest, \
    earliest = late > 0 && (earliest == 0 || late < earliest) ? late : earliest, 0) nooutput
rows = words(keys)
row(dummy) = words(substr(" ".keys." ", 1, strstrt(" ".keys." ", " ".key_of(0)." ")))
array NAMES[rows]
array TINTS[rows]
stats data using (NAMES[row(0) + 1] = strcol("series").", ".strcol("drive"), TINTS[row(0) + 1] = colour(column("style")), 0) nooutput
ROW = 26
BARS = rows * ROW
KEY_COLUMNS = 2
key_height = 20 * ceil(rows / (1.0 * KEY_COLUMNS)) + 30
others = 2 * (BARS + 95) + 110 + key_height
height = others + fitted(290, 1, others)
share(pixels) = 1.0 - pixels / (1.0 * height)
# As far as 99.99 %, every further nine takes the same room.
nines(share) = share >= 0.99995 ? NaN : -log10(1 - share)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot
    unset logscale; unset label; unset key
    set grid xtics noytics
    set lmargin at screen left_margin(longest + 1)
    set rmargin at screen 0.93
    set yrange [rows - 0.5:-0.5]
    set ytics nomirror ("" 0)
    do for [k = 1:rows] { set ytics add (NAMES[k] k - 1) }
    set xtics nomirror autofreq
    do for [k = 1:2] {
        top = 50 + (k - 1) * (BARS + 95)
        set tmargin at screen share(top)
        set bmargin at screen share(top + BARS)
        name = k == 1 ? "timer_wakeups_per_second" : "cpu_percent"
        set xrange [0:HIGH[k] > 0 ? 1.1 * HIGH[k] : 1]
        set title headed(k == 1 ? "Wakeups for timers per second (for nothing: pale)" : "CPU use, % of one core") offset 0,-0.4
        plot data using (value_in(name)):(row(0)):(0):(value_in(name)):(row(0) - 0.36):(row(0) + 0.36):(colour(column("style"))) \
                with boxxyerror fs solid 0.8 noborder lc rgb variable, \
            for [i = 1:k == 1] data using (value_in("idle_wakeups_per_second")):(row(0)):(0):(value_in("idle_wakeups_per_second")): \
                (row(0) - 0.3):(row(0) + 0.3) with boxxyerror fs solid noborder lc rgb "#99ffffff", \
            data using (value_in(name)):(row(0)):(sprintf(k == 1 ? "%.0f" : "%.1f", column("value"))) with labels left offset 0.5,0 tc rgb INK
    }
    set tmargin at screen share(50 + 2 * (BARS + 95))
    set bmargin at screen share(height - 60 - key_height)
    set lmargin at screen 0.10
    set title headed("Lateness in µs by share of the expiries") offset 0,-0.4
    set grid xtics ytics
    set xrange [0:4.2]
    set xtics ("0" 0, "90 %%" 1, "99 %%" 2, "99.9 %%" 3, "99.99 %%" 4)
    set yrange [latest > 0 ? earliest / 1.5 : 0:latest > 0 ? latest * 1.5 : 1]
    set ytics nomirror autofreq
    if (latest > 0) {
        set logscale y
        eval "set ytics nomirror ".(latest < 50 * earliest ? fine_tics(PLAIN_TICS) : PLAIN_TICS)
    } else {
        set label 1 "no timer fired late, or none at all" at graph 0.5, graph 0.5 center tc rgb INK
    }
    set key at screen 0.5, screen share(height - key_height + 8) center top horizontal maxcols KEY_COLUMNS width 2 samplen 2 tc rgb INK
    plot for [k = 1:rows] data using (row(0) == k - 1 ? nines(column("share")) : NaN): \
        (value_in("lateness_us") > 0 || latest == 0 ? value_in("lateness_us") : NaN) \
        with linespoints lc rgb TINTS[k] pt (k + 3) ps 0.7 lw 1.2 title NAMES[k]
    unset multiplot
    unset output
}
