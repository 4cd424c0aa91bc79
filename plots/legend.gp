# legend.gp: the legend of lines.gp, drawn by hand, since gnuplot's own drops what does not fit. Set
# for the last panel, in the picture's coordinates.
legend_left = (WIDTH - legend_across * legend_width) / 2.0 + 10
do for [k = 1:entries] {
    x = legend_left + ((k - 1) / legend_down) * legend_width
    y = share(down * panel_height + 12 + 19 * ((k - 1) % legend_down))
    look = k <= words(named_styles) ? int(word(named_styles, k)) : MUTED
    set arrow from screen x / WIDTH, y to screen (x + 46) / WIDTH, y nohead \
        lw 1.8 lc rgb colour(look) dt dash(look)
    set label "" at screen (x + 23) / WIDTH, y point ps 0.8 lc rgb colour(look) pt marker(look)
    set label (k <= words(named_series) ? word(named_series, k) : sprintf(muted == 1 ? "%d other" : "%d others", muted)) at screen (x + 54) / WIDTH, y left tc rgb INK
}
