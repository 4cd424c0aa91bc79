# live-kernel.gp FILE OUT: rows of `timerlab live --kernel --hosted` at several numbers of connections, as
# OUT.svg and OUT.png: lateness, share of a processor, system calls an expiry and the kernel's memory.
# Columns: algo drive connections lateness_us_p99 cpu_percent system_calls_per_expiry kernel_bytes_per_timer
set datafile separator comma
set datafile columnheaders
file = ARG1
out = ARG2
set datafile missing NaN
array NAMES[64]
rows = 0
seen = " "
key_of(algo, drive) = algo.", ".drive
add(name) = strstrt(seen, "|".name."|") > 0 ? 0 : (seen = seen."|".name."|", rows = rows + 1, NAMES[rows] = name, 0)
stats file using (add(key_of(strcol("algo"), strcol("drive")))) nooutput
array TITLES = ["late, 99 of 100, in microseconds", "share of one processor, percent", "system calls an expiry", "the kernel's bytes a timer"]
array COLUMNS = ["lateness_us_p99", "cpu_percent", "system_calls_per_expiry", "kernel_bytes_per_timer"]
array TINTS = [0x2a78d6, 0x1baf7a, 0xeb6834, 0xeda100, 0xe34948, 0x4a3aa7, 0x008300, 0xe87ba4, 0x777777]
INK = 0x333333
pick(i, panel) = key_of(strcol("algo"), strcol("drive")) eq NAMES[i] ? column(COLUMNS[panel]) : NaN
do for [terminal in "svg pngcairo"] {
    if (terminal eq "svg") {
        set terminal svg size 900, 860 font "sans-serif,13" background "#ffffff"
        set output out.".svg"
    } else {
        set terminal pngcairo size 900, 860 font "sans-serif,10" background "#ffffff"
        set output out.".png"
    }
    reset
    set datafile separator comma
    set datafile columnheaders
    set datafile missing NaN
    set multiplot
    set border 3 lc rgb INK
    set tics nomirror textcolor rgb INK
    set grid lc rgb 0xdddddd lw 0.7
    set logscale xy
    set xrange [500:2e6]
    set format x "10^{%L}"
    set key off
    do for [panel = 1:4] {
        left = panel % 2 == 1 ? 0.08 : 0.57
        top = panel < 3 ? 0.95 : 0.54
        set lmargin screen left
        set rmargin screen left + 0.40
        set tmargin screen top
        set bmargin screen top - 0.31
        set title TITLES[panel] textcolor rgb INK noenhanced
        set xlabel panel > 2 ? "connections" : "" textcolor rgb INK
        if (panel == 4) { set key at screen 0.5, 0.13 center top vertical maxrows 3 textcolor rgb INK noenhanced }
        plot for [i = 1:rows] file using (column("connections")):(pick(i, panel)) with linespoints lc rgb TINTS[1 + (i - 1) % 9] pt (i + 3) ps 0.8 lw 1.5 title NAMES[i]
    }
    unset multiplot
    unset output
}
