# regime.gp: a map of who is the fastest, over two knobs of a sweep: a field for each pair of values, in
# the colour of its winner, with how many times as long the next one takes. Where that cannot be told
# from the spread of the runs, the field is pale. See style.gp for the data.
# Columns: series style column row x y ns_per_event next times certain. Settings: what the axes show.
x_label = setting_1; y_label = setting_2
series = ""; styles = ""; columns = 0; rows = 0; longest = 0; y_width = 3
stats data using (styles = member(series, strcol("series")) ? styles : styles." ".strcol("style"), \
    series = joined(series, strcol("series")), \
    longest = strlen(strcol("series")) > longest ? strlen(strcol("series")) : longest, \
    columns = column("column") > columns ? column("column") : columns, \
    rows = column("row") > rows ? column("row") : rows, \
    0) nooutput
field_width = (WIDTH - 120.0) / columns
# Names stand in the fields where they fit.
small = 0.82 * CHARACTER
named = longest * small + 8 < field_width
undecided = 11 * small < field_width ? "cannot tell" : "?"
legend_width = longest * CHARACTER + 52
legend_across = int((WIDTH - 20) / legend_width)
if (legend_across < 1) { legend_across = 1 }
legend_down = (words(series) + legend_across - 1) / legend_across
panel = fitted(rows * (rows > 8 ? 36 : 52), 1, 96 + 20 * legend_down)
height = panel + 96 + 20 * legend_down
is_certain(dummy) = column("certain") > 0
# Fields have neither dash nor marker, so that a colour has to stand for one structure. Grey is in black's
# place, which would hide what is written on it, and behind the colours of style.gp there are five more:
# no two are alike, nor are they to those who cannot see red or green.
FIELDS = HUES." 0x555555 0xF0E442 0x9400E6 0x663300 0x008DF9 0xDDCC77"
# A style has the same colour in every map, unless one before it in this map has it; then the first that
# is free, from the end. Beyond twelve colours repeat, and the names have to do.
colours = ""
do for [k = 1:words(series)] {
    pick = cycle(FIELDS, word(styles, k))
    do for [c = 1:words(FIELDS)] {
        if (member(colours, pick)) { pick = word(FIELDS, words(FIELDS) + 1 - c) }
    }
    colours = colours." ".pick
}
position(list, name) = words(substr(" ".list." ", 1, strstrt(" ".list." ", " ".name." "))) + 1
field_colour(name) = int(word(colours, position(series, name)))

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set lmargin at screen 90.0 / WIDTH
    set rmargin at screen 1 - 30.0 / WIDTH
    set tmargin at screen 1 - 30.0 / height
    set bmargin at screen 1 - (30.0 + panel) / height
    set title headed("The fastest; below it, how much longer the next one takes".(undecided eq "?" ? " (?: cannot tell)" : "")) offset 0,-0.4
    set xrange [0.5:columns + 0.5]
    set yrange [0.5:rows + 0.5]
    unset key; unset grid
    set border 0
    set xlabel x_label offset 0,0.3
    set ylabel y_label offset 0.8,0
    set tics scale 0
    set xtics nomirror; set ytics nomirror
    unset label; unset object
    do for [k = 1:words(series)] {
        left = 90 + ((k - 1) % legend_across) * legend_width
        top = panel + 84 + 20 * ((k - 1) / legend_across)
        set object k rectangle from screen left / WIDTH, screen 1 - (top + 14.0) / height \
            to screen (left + 22.0) / WIDTH, screen 1 - top / (1.0 * height) \
            fc rgb int(word(colours, k)) fs solid 0.75 noborder
        set label k word(series, k) at screen (left + 30.0) / WIDTH, screen 1 - (top + 7.0) / height \
            left tc rgb INK
    }
    small_font = FONT . "," . (terminal eq "svg" ? "10.5" : "8")
    plot data using (column("column")):(column("row")):(column("column") - 0.49):(column("column") + 0.49):\
            (column("row") - 0.47):(column("row") + 0.47):(field_colour(strcol("series"))):xtic(brief(column("x"))):\
            ytic(brief(column("y"))) with boxxyerror fill solid 0.35 border lw 2.5 lc rgb variable, \
        data using (is_certain(0) ? column("column") : NaN):(column("row")):(column("column") - 0.49):\
            (column("column") + 0.49):(column("row") - 0.47):(column("row") + 0.47):\
            (field_colour(strcol("series"))) with boxxyerror fill solid 0.55 noborder lc rgb variable, \
        for [i = 1:named] data using (column("column")):(column("row") + 0.17):(strcol("series")) \
            with labels center font small_font tc rgb 0x000000, \
        data using (column("column")):(column("row") - (named ? 0.2 : 0)):\
            (is_certain(0) ? sprintf("%.2f×", column("times")) : undecided) \
            with labels center font small_font tc rgb 0x000000, \
        for [i = 1:(terminal eq "svg")] data using (column("column")):(column("row")):\
            (sprintf("%s: %s = %s, %s = %s: ", strcol("series"), x_label, brief(column("x")), y_label, \
                brief(column("y"))).digits(column("ns_per_event"))." ns per event; the next, " \
                .strcol("next").", takes ".sprintf("%.2f", column("times"))." times as long" \
                .(is_certain(0) ? "" : ", which the runs cannot tell apart")) \
            with labels hypertext point pt 7 ps 1.2 lc rgb SELECTED
    unset output
}
