# together.gp: how many timers fire at once: bars over time, a panel for each series, one below the other.
# See style.gp for the data, and docs/tools/draw-workloads, which makes it.
# Columns: series style at_ms fired (in the busiest tick around then; no row where none fires)
series = ""; styles = ""
stats data using (styles = member(series, strcol("series")) ? styles : styles." ".strcol("style"), \
    series = joined(series, strcol("series")), 0) nooutput
stats data using "at_ms" nooutput
x_high = STATS_max
stats data using "fired" nooutput
y_high = STATS_max
panel = 132
height = words(series) * panel + 56
at(pixels) = 1 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot
    set lmargin at screen 78.0 / WIDTH
    set rmargin at screen 1 - 18.0 / WIDTH
    unset key
    set xrange [0:x_high / 1e3]
    set logscale y
    # A bar of one timer is to be seen.
    set yrange [0.5:y_high * 1.5]
    eval "set ytics nomirror ".PLAIN_TICS
    set xtics nomirror autofreq format ""
    unset xlabel
    do for [k = 1:words(series)] {
        name = word(series, k)
        mine(column_name) = strcol("series") eq name ? column(column_name) : NaN
        stats data using (mine("fired")) nooutput
        set tmargin at screen at((k - 1) * panel + 36)
        set bmargin at screen at(k * panel)
        set title headed(sprintf("%s: at most %s in one tick", name, counted(STATS_max))) offset 0,-0.6
        set label 1 "timers" at screen 11.0 / WIDTH, screen at((k - 0.5) * panel + 18) center rotate by 90
        if (k == words(series)) {
            set xtics format "%g"
            set xlabel "time, s" offset 0,0.3
        }
        plot data using (mine("at_ms") / 1e3):(column("fired")) with impulses lw 2 lc rgb colour(int(word(styles, k)))
    }
    unset multiplot
    unset output
}
