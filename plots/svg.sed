# svg.sed: an SVG of gnuplot's, smaller, and with values that browsers show without a script.
s/<title>[^<]*<\/title>//g
s/ stroke-linecap="butt"| stroke-linejoin="miter"//g
s/.*<g onmousemove="gnuplot_svg\.showHypertext\(evt,'(.*)'\)".*/<g class="value"><title>\1<\/title>/
/^[[:blank:]]*$/d
# A group with nothing in it goes.
/^<g fill="none" color=/ {
    :next
    $!N
    /\n[[:blank:]]*$/ {
        s///
        b next
    }
    /\n<\/g>$/d
    P
    D
}
