# lateness.gp: when timers fired, seen from their due ticks: from the earliest to the latest as a line,
# with the median and the 99th percentile; between brackets, what the structure promises for the delays of
# the trace. The axis is logarithmic to both sides of 0. See style.gp for the data.
# Columns: series algo options style lateness_min lateness_p50 lateness_p99 lateness_max declared_early
# declared_late
rows = 0; names_width = 4; low = 0; high = 0; promises = 0
stats data using (rows = rows + 1, \
    names_width = strlen(strcol("series")) > names_width ? strlen(strcol("series")) : names_width, \
    low = number("lateness_min") < low ? number("lateness_min") : low, \
    low = -number("declared_early") < low ? -number("declared_early") : low, \
    high = number("lateness_max") > high ? number("lateness_max") : high, \
    high = number("declared_late") > high ? number("declared_late") : high, \
    promises = promises || strcol("declared_late") ne "nan", \
    0) nooutput
panel = fitted(34 * rows + 20, 1, 108)
height = panel + 108
QUANTILES = "lateness_min lateness_p50 lateness_p99 lateness_max"
QUANTILE_WORDS = "'the earliest' 'half up to' '99 % up to' 'the latest'"
place(x) = sgn(x) * log10(1 + abs(x))
ticks(x) = grouped(int(abs(x))).(abs(x) == 1 ? " tick" : " ticks")
when(x) = x == 0 ? "on the tick" : ticks(x).(x < 0 ? " early" : " late")

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set lmargin at screen left_margin(names_width)
    set rmargin at screen 0.965
    set tmargin at screen 1 - 30.0 / height
    set bmargin at screen 1 - (30.0 + panel) / height
    set title headed("Lateness") offset 0,-0.4
    set label 1 "ticks after (before: negative) the due tick: line, all; dot, median; bar, 99 %" \
        at screen 0.5, screen 40.0 / height center tc rgb INK
    set label 2 (promises ? "[ ]: what is promised for the delays of the trace" : "") \
        at screen 0.5, screen 18.0 / height center tc rgb INK
    set yrange [-rows + 0.4 : 0.6]
    unset ytics
    unset key
    set grid xtics noytics
    set xrange [place(low) - 0.15 : place(high) + 0.3]
    set xtics nomirror ("0" 0)
    do for [decade = 0:9] {
        size = 10.0 ** decade
        if (size <= high) { set xtics add (grouped(int(size)) place(size)) }
        if (size <= -low) { set xtics add ("-".grouped(int(size)) place(-size)) }
    }
    set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead lc rgb INK lw 1 back
    has_declared(dummy) = strcol("declared_late") ne "nan"
    plot data using (place(column("lateness_min"))):(-$0): \
            (place(column("lateness_max")) - place(column("lateness_min"))):(0):(colour(column("style"))) \
            with vectors nohead lw 3 lc rgb variable, \
        data using (place(column("lateness_p50"))):(-$0):(colour(column("style"))) \
            with points pt 7 ps 1.2 lc rgb variable, \
        data using (place(column("lateness_p99"))):(-$0 - 0.22):(0):(0.44):(colour(column("style"))) \
            with vectors nohead lw 3 lc rgb variable, \
        data using (has_declared(0) ? place(-column("declared_early")) : NaN):(-$0):("[") \
            with labels tc rgb INK offset -0.4,0 font FONT.",15", \
        data using (has_declared(0) ? place(column("declared_late")) : NaN):(-$0):("]") \
            with labels tc rgb INK offset 0.4,0 font FONT.",15", \
        data using (place(low) - 0.15):(-$0):(strcol("series")) \
            with labels right offset -0.8,0 tc rgb INK, \
        for [k = 1:(terminal eq "svg" ? words(QUANTILES) : 0)] \
            data using (place(column(word(QUANTILES, k)))):(-$0): \
                (strcol("series").": ".word(QUANTILE_WORDS, k)." ".when(column(word(QUANTILES, k)))) \
            with labels hypertext point pt 7 ps 1.2 lc rgb SELECTED
    unset output
}
