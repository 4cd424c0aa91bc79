# portrait.gp: what is in a trace, or in two, on the same axes: operations and expiries over the timed
# window, how many timers are pending, and how the delays are distributed. `timerlab trace info --plot`
# calls it. See style.gp for the data.
# Columns: panel series from_s to_s value trace (operations: per second; pending: how many; delays: %)

# What there is: traces and series in the file's order, how far values and times reach.
traces = ""; series = ""; shown = ""; end_s = 0; low = 0; high = 0; most = 0
shortest = 0; longest = 0; largest = 0
in(panel) = strcol("panel") eq panel
# The bar of a delay of 0 ends at one tick; on a logarithmic axis it needs a beginning.
from(dummy) = column("from_s") > 0 ? column("from_s") : column("to_s") / 10 ** 0.1
of(trace) = strcol("trace") eq trace
stats data using (here = column("value"), to_s = column("to_s"), \
    traces = joined(traces, strcol("trace")), \
    series = in("operations") ? joined(series, strcol("series")) : series, \
    shown = in("operations") ? joined(shown, strcol("trace")."/".strcol("series")) : shown, \
    end_s = !in("delays") && to_s > end_s ? to_s : end_s, \
    low = in("operations") && here > 0 && (low == 0 || here < low) ? here : low, \
    high = in("operations") && here > high ? here : high, \
    most = in("pending") && here > most ? here : most, \
    shortest = in("delays") && (shortest == 0 || from(0) < shortest) ? from(0) : shortest, \
    longest = in("delays") && to_s > longest ? to_s : longest, \
    largest = in("delays") && here > largest ? here : largest, \
    0) nooutput
if (end_s == 0) { end_s = 1 }

# The unit in which the window is a number that people read.
unit = end_s < 2e-3 ? "µs" : end_s < 2 ? "ms" : end_s < 600 ? "s" : end_s < 10800 ? "min" \
    : end_s < 259200 ? "h" : "days"
unit_s = unit eq "µs" ? 1e-6 : unit eq "ms" ? 1e-3 : unit eq "s" ? 1 : unit eq "min" ? 60 \
    : unit eq "h" ? 3600 : 86400
LONG_TICS = "('1 ns' 1e-9, '10 ns' 1e-8, '100 ns' 1e-7, '1 µs' 1e-6, '10 µs' 1e-5, '100 µs' 1e-4, " \
    ."'1 ms' 1e-3, '10 ms' 1e-2, '100 ms' 0.1, '1 s' 1, '10 s' 10, '1 min' 60, '10 min' 600, " \
    ."'1 h' 3600, '10 h' 36000, '4 days' 345600, '40 days' 3456000, '1 year' 31557600, " \
    ."'10 years' 315576000)"
# For axes that span so much that these would touch each other.
SPARSE_TICS = "('1 ns' 1e-9, '' 1e-8, '' 1e-7, '1 µs' 1e-6, '' 1e-5, '' 1e-4, '' 1e-3, '10 ms' 1e-2, '' 0.1, " \
    ."'1 s' 1, '' 10, '1 min' 60, '' 600, '1 h' 3600, '' 36000, '4 days' 345600, '' 3456000, '1 year' 31557600)"

# Marks of a linear axis from 0: a round step, of which three to six fit, and short names.
round_step(x) = x >= 5 ? 5 : x >= 2 ? 2 : 1
power(x) = 10.0 ** floor(log10(x))
step(high) = round_step(high / 3.0 / power(high / 3.0)) * power(high / 3.0)
short(x) = x >= 1e9 ? sprintf("%g G", x / 1e9) : x >= 1e6 ? sprintf("%g M", x / 1e6) \
    : x >= 1e3 ? sprintf("%g k", x / 1e3) : sprintf("%g", x)
marks(high) = mark_list(step(high), high)
mark_list(step, high) = "('0' 0".mark(1, step, high).mark(2, step, high).mark(3, step, high) \
    .mark(4, step, high).mark(5, step, high).mark(6, step, high).")"
# Those of a logarithmic one: powers of ten, with 2 and 5 between them where there are few of them.
log_marks(low, high) = "('' ".sprintf("%.15g", low).log_mark_list(floor(log10(low)), low, high).")"
log_mark_list(decade, low, high) = 10.0 ** decade > high ? "" \
    : log_mark(1, decade, low, high) \
    .(high / low < 1000 ? log_mark(2, decade, low, high).log_mark(5, decade, low, high) : "") \
    .log_mark_list(decade + 1, low, high)
log_mark(i, decade, low, high) = i * 10.0 ** decade < low || i * 10.0 ** decade > high ? "" \
    : sprintf(", '%s' %.15g", short(i * 10.0 ** decade), i * 10.0 ** decade)
mark(i, step, high) = i * step > high * 1.1 ? "" : sprintf(", '%s' %.15g", short(i * step), i * step)

pair = words(traces) > 1
left_of(i) = (pair && i > 1 ? 0.5 + 30.0 / WIDTH : 84.0 / WIDTH)
right_of(i) = (pair && i == 1 ? 0.5 - 14.0 / WIDTH : 1.0 - 18.0 / WIDTH)

# The title of the lower panels is clear of what is written at the axis above them.
top_height = 230; row_height = 200; gap = 92; apart = pair ? 48 : 66
# Of two traces a line says what is what below each row, clear of what is written at the axis.
key_height = pair ? 36 : 0
second_top = top_height + gap + apart + key_height
height = second_top + row_height + (pair ? 82 : 58)
share(pixels) = 1.0 - pixels / (1.0 * height)
# At least two decades, so that one bar does not fill the panel.
middle = longest > 0 ? sqrt(shortest * longest) : 1.0
delay_low = longest > 0 && shortest < middle / 10 ? shortest / 1.3 : middle / 10
delay_high = longest > middle * 10 ? longest * 1.3 : middle * 10
PANEL_KEY = "set lmargin at screen 84.0 / WIDTH; set rmargin at screen 1.0 - 18.0 / WIDTH; " \
    ."unset border; unset tics; unset xlabel; unset ylabel; unset title; set xrange [0:1]; set yrange [0:1]"
look(name) = name eq "start" ? 1 : name eq "restart" ? 2 : name eq "stop" ? 3 : 4

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot
    unset label; unset logscale; unset grid
    set grid xtics ytics lc rgb 0xDDDDDD lt 1 lw 0.7

    # Operations
    set tmargin at screen share(58)
    set bmargin at screen share(58 + top_height)
    set xlabel "time, ".unit offset 0,0.3
    set xrange [0:end_s / unit_s]
    set xtics nomirror autofreq format "%g"
    logarithmic = low > 0 && high / low > LOG_RATIO
    if (logarithmic) {
        set logscale y
        set yrange [low / 1.5:high * 1.5]
        eval "set ytics nomirror ".log_marks(low / 1.5, high * 1.5)
    } else {
        set yrange [0:(high > 0 ? high * 1.1 : 1)]
        eval "set ytics nomirror ".marks(high > 0 ? high : 1)
    }
    if (pair) {
        unset key
    } else {
        set key at graph 1, screen share(50) right bottom horizontal samplen 3 width 1 tc rgb INK
    }
    # Nothing of a kind lies at the panel's bottom; on a logarithmic axis there is no zero.
    height_of(value) = logarithmic && value <= 0 ? low / 1.5 : value
    do for [i = 1:words(traces)] {
        set lmargin at screen left_of(i)
        set rmargin at screen right_of(i)
        # Two share a key, and the axis of the first.
        set title (pair ? "Operations and expiries: ".word(traces, i) : headed("Operations and expiries")) \
            offset 0,(pair ? -0.4 : 0.9)
        set ylabel (i == 1 ? "per second" : "") offset 0.4,0
        if (words(series) > 0) {
            here = ""
            do for [name in series] {
                if (member(shown, word(traces, i)."/".name)) { here = here." ".name }
            }
            plot for [name in (words(here) > 0 ? here : word(series, 1))] data \
                using ((column("from_s") + column("to_s")) / 2 / unit_s):\
                    (in("operations") && of(word(traces, i)) && strcol("series") eq name \
                        ? height_of(column("value")) : NaN) \
                with linespoints lw 1.4 ps 0.7 pi 12 lc rgb colour(look(name)) dt dash(look(name)) \
                pt marker(look(name)) title name
        } else {
            set label 1 "no operation in the window" at graph 0.5, graph 0.5 center tc rgb INK
            plot -1 notitle
            unset label 1
        }
    }
    unset logscale y
    unset key
    if (pair) {
        eval PANEL_KEY
        set key at screen 0.5, screen share(58 + top_height + gap - 13) center bottom horizontal samplen 3 \
            width 1 tc rgb INK
        plot for [name in series] NaN with linespoints lw 1.4 ps 0.7 lc rgb colour(look(name)) \
            dt dash(look(name)) pt marker(look(name)) title name
        set key at screen 0.5, screen share(height - 2) center bottom horizontal samplen 3 width 1 tc rgb INK
        plot for [i = 1:2] NaN with steps lw 1.6 lc rgb colour(i) dt dash(i) title word(traces, i)
        unset key
        set border 3 lc rgb INK lw 1
        set tics nomirror out scale 0.6 textcolor rgb INK
        set xlabel "time, ".unit offset 0,0.3
        set xrange [0:end_s / unit_s]
        set xtics nomirror autofreq format "%g"
    }

    # Pending timers
    set lmargin at screen 84.0 / WIDTH
    set rmargin at screen 0.5 - 14.0 / WIDTH
    set tmargin at screen share(second_top)
    set bmargin at screen share(second_top + row_height)
    set title "Pending timers" offset 0,-0.4
    set ylabel "timers, most in a stretch" offset 0.4,0
    set yrange [0:(most > 0 ? most * 1.1 : 1)]
    eval "set ytics nomirror ".marks(most > 0 ? most : 1)
    plot for [i = 1:words(traces)] data \
        using (in("pending") && of(word(traces, i)) ? column("from_s") / unit_s : NaN):(column("value")) \
        with steps lw 1.6 lc rgb colour(i) dt dash(i) notitle

    # Delays
    set lmargin at screen 0.5 + 60.0 / WIDTH
    set rmargin at screen 1.0 - 18.0 / WIDTH
    set title "Delays of the starts" offset 0,-0.4
    set xlabel "delay"
    set ylabel "share of the starts, %" offset 0,0
    set xrange [delay_low:delay_high]
    set logscale x
    set yrange [0:(largest > 0 ? largest * 1.1 : 1)]
    eval "set ytics nomirror ".marks(largest > 0 ? largest : 1)
    eval "set xtics nomirror ".(delay_high / delay_low > 3e5 ? SPARSE_TICS : LONG_TICS)
    if (largest > 0) {
        # Of two, one shines through the other.
        plot for [i = 1:words(traces)] data using \
            (in("delays") && of(word(traces, i)) ? sqrt(from(0) * column("to_s")) : NaN):\
            (column("value") / 2.0):(from(0)):(column("to_s")):(0):(column("value")) \
            with boxxyerror fs transparent solid (pair ? 0.5 : 0.8) noborder lc rgb colour(i) notitle
    } else {
        set label 1 "no start" at graph 0.5, graph 0.5 center tc rgb INK
        plot -1 notitle
        unset label 1
    }
    unset multiplot
    unset output
}
