# style.gp SCRIPT DATA OUT [CAPTION [SETTING...]]: draws a picture with SCRIPT.gp beside this file:
#   gnuplot -c plots/style.gp stall x.csv x
#
# DATA is a CSV with a header row; columns are found by their names in it. OUT is the picture's name
# without its ending: OUT.svg and OUT.png are written. CAPTION says what is measured, for the titles. The
# settings are the script's own: `setting_1` to `setting_4`; "" is as good as none. The ninth argument FORMAT:WxH (pdf,
# svg or png; pixels of 1/96 inch) draws one file of that format and size. A path that does not begin
# with / or . may be taken for something else than a file: a pipe, for one.
#
# A series is a value of the column `series`, in the order of the file. Its looks follow from the
# column `style`: 1, 2, ... for contenders, 0, -1, ... for yardsticks, which are drawn in grey, -99 for
# those that are only shown behind the others.
# `timerlab report` makes such files from folders of results.

if (ARGC < 3) {
    print "usage: gnuplot -c plots/style.gp SCRIPT DATA.csv PICTURE [CAPTION [SETTING...]]"
    exit status 2
}
# What is loaded has no arguments.
FOLDER = ARG0[:strlen(ARG0) - strlen("style.gp")]
script = ARG1; data = ARG2; out = ARG3; caption = ARG4
setting_1 = ARG5; setting_2 = ARG6; setting_3 = ARG7; setting_4 = ARG8
form = ARG9
WIDTH = form eq "" ? 800 : int(form[5:strstrt(form, "x") - 1])
HEIGHT = form eq "" ? 0 : int(form[strstrt(form, "x") + 1:*])
headed(title) = caption eq "" ? title : title.", ".caption

set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile commentschars ""
# A row of another series is skipped, and the line goes on.
set datafile missing NaN

# Okabe and Ito's palette without its yellow, which is too pale for a line on white, and without
# its black. Colours, dashes and markers repeat with periods of 7, 5 and 9: two series look the same
# only if they are 315 apart.
HUES    = "0x0072B2 0xD55E00 0x009E73 0xCC79A7 0xE69F00 0x56B4E9"
COLOURS = HUES." 0x000000"
DASHES  = "1 2 3 4 5"
MARKERS = "7 5 9 13 11 6 4 8 12"
GREY    = 0x777777
INK     = 0x333333
# Of the mark of the point whose value is shown; until then it is fully transparent.
SELECTED = "0xFF0060A0"
cycle(list, i) = word(list, (int(i) - 1) % words(list) + 1)
MUTED   = -99
PALE    = 0xC4C4C4
colour(style) = style > 0 ? int(cycle(COLOURS, style)) : style == MUTED ? PALE : GREY
dash(style)   = style > 0 ? int(cycle(DASHES, style)) : style == MUTED ? 1 : int(cycle(DASHES, 2 - style))
marker(style) = style == MUTED ? 0 : style > 0 ? int(cycle(MARKERS, style)) : int(cycle("2 1 3", 1 - style))

# A column's value, 0 where there is none. (column() would make the whole row undefined.)
number(name) = strcol(name) eq "nan" ? 0 : real(strcol(name))

# Numbers with three digits that count, and the unit that suits.
digits(x)   = abs(x) >= 999.5 ? grouped(floor(x + 0.5)) : abs(x) >= 99.95 ? sprintf("%.0f", x) \
            : abs(x) >= 9.995 ? sprintf("%.1f", x) : x == 0 ? "0" : sprintf("%.2f", x)
grouped(n)  = n < 1000 ? sprintf("%d", n) : grouped(n / 1000).sprintf(",%03d", n % 1000)
duration(x) = x < 1e3 ? digits(x)." ns" : x < 1e6 ? digits(x / 1e3)." µs" \
            : x < 1e9 ? digits(x / 1e6)." ms" : digits(x / 1e9)." s"
# Round ones, as on an axis.
brief(x)    = x < 1e3 ? sprintf("%g", x) : x < 1e6 ? sprintf("%g k", x / 1e3) \
            : x < 1e9 ? sprintf("%g M", x / 1e6) : sprintf("%g G", x / 1e9)
brief_duration(x) = x < 1e3 ? sprintf("%g ns", x) : x < 1e6 ? sprintf("%g µs", x / 1e3) \
            : x < 1e9 ? sprintf("%g ms", x / 1e6) : sprintf("%g s", x / 1e9)
# Counts, which are whole.
counted(x)  = x < 1e5 ? grouped(int(x)) : scaled(x)
# Counts and bytes, in powers of ten.
scaled(x)   = x < 1e3 ? digits(x) : x < 1e6 ? digits(x / 1e3)." k" \
            : x < 1e9 ? digits(x / 1e6)." M" : digits(x / 1e9)." G"

# Marks of a logarithmic axis of durations given in ns, and of one of counts or bytes.
DURATION_TICS = "('1 ns' 1, '10 ns' 1e1, '100 ns' 1e2, '1 µs' 1e3, '10 µs' 1e4, '100 µs' 1e5, " \
    ."'1 ms' 1e6, '10 ms' 1e7, '100 ms' 1e8, '1 s' 1e9, '10 s' 1e10, '100 s' 1e11, '1,000 s' 1e12)"
PLAIN_TICS = "('0.01' 1e-2, '0.1' 1e-1, '1' 1, '10' 1e1, '100' 1e2, '1,000' 1e3, " \
    ."'10,000' 1e4, '100,000' 1e5, '1,000,000' 1e6)"
SCALED_TICS = "('0.01' 1e-2, '0.1' 1e-1, '1' 1, '10' 1e1, '100' 1e2, '1 k' 1e3, '10 k' 1e4, " \
    ."'100 k' 1e5, '1 M' 1e6, '10 M' 1e7, '100 M' 1e8, '1 G' 1e9, '10 G' 1e10, '100 G' 1e11)"
# The same with 2 and 5 between the powers of ten, for axes that span few of them.
DURATION_FINE_TICS = ""; PLAIN_FINE_TICS = ""; SCALED_FINE_TICS = ""
with_mark(tics, name, x) = tics.sprintf("%s'%s' %g", tics eq "" ? "" : ", ", name, x)
do for [power = -1:11] {
    do for [digit in "1 2 5"] {
        here = digit * 10.0**power
        DURATION_FINE_TICS = with_mark(DURATION_FINE_TICS, brief_duration(here), here)
        PLAIN_FINE_TICS = with_mark(PLAIN_FINE_TICS, here < 1 ? brief(here) : grouped(int(here + 0.5)), here)
        SCALED_FINE_TICS = with_mark(SCALED_FINE_TICS, brief(here), here)
    }
}
fine_tics(tics) = "(".(tics eq DURATION_TICS ? DURATION_FINE_TICS : tics eq PLAIN_TICS ? PLAIN_FINE_TICS \
    : SCALED_FINE_TICS).")"

# A ratio of the largest to the smallest value above which an axis becomes logarithmic.
LOG_RATIO = 30

# Sizes in pixels. At 600 pixels' width the text is still 9 pixels high.
FONT = "DejaVu Sans"
CHARACTER = 7.6
# Of names of so many characters; longer ones are cut off.
left_margin(names) = names > 60 ? left_margin(60) : (names * CHARACTER + 16) / WIDTH
# The height of a row of rows.gp, of so many.
row_height(rows) = rows > 16 ? 25 : 30
# The height of a panel: the natural one, or what a wanted height of the picture leaves for each, if it can be read.
fitted(natural, panels, others) = HEIGHT == 0 ? natural : \
    HEIGHT - others > LEAST * natural * panels ? (HEIGHT - others) / (1.0 * panels) : LEAST * natural
LEAST = 0.6
TERMINALS = form eq "" ? "svg pngcairo" : form[1:3] eq "pdf" ? "pdfcairo" : form[1:3] eq "png" ? "pngcairo" : "svg"
open_svg(w, h) = sprintf("set terminal svg noenhanced size %d,%d font '%s,13' background 'white'", w, h, FONT)
open_pngcairo(w, h) = sprintf("set terminal pngcairo noenhanced size %d,%d font '%s,10' background 'white'", w, h, FONT)
open_pdfcairo(w, h) = sprintf("set terminal pdfcairo noenhanced fontscale 1 size %fin,%fin font '%s,10'", w / 96.0, h / 96.0, FONT)
open_terminal(t, w, h) = t eq "svg" ? open_svg(w, h) : t eq "pdfcairo" ? open_pdfcairo(w, h) : open_pngcairo(w, h)
ending(t) = ".".t[1:3]

set border 3 lc rgb INK lw 1
set tics nomirror out scale 0.6 textcolor rgb INK
set grid lc rgb 0xDDDDDD lt 1 lw 0.7
set bars small
set key

# The distinct values of a column, in the file's order, joined by blanks.
member(list, name) = strstrt(" ".list." ", " ".name." ") > 0
joined(list, name) = member(list, name) ? list : list eq "" ? name : list." ".name

load FOLDER.script.".gp"
