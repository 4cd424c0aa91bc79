# strip.awk: an SVG of gnuplot's as it is wanted here: its hypertext becomes titles, which browsers show
# without a script; its own titles, attributes that say what is so without them, and groups with nothing
# in them, go.

function flush() {
    if (held != "") {
        print held
        held = ""
    }
}

{
    gsub(/<title>[^<]*<\/title>/, "")
    gsub(/ stroke-linecap="butt"| stroke-linejoin="miter"/, "")
    if (match($0, /<g onmousemove="gnuplot_svg.showHypertext\(evt,'.*'\)"/)) {
        text = substr($0, RSTART, RLENGTH)
        sub(/^[^']*'/, "", text)
        sub(/'[^']*$/, "", text)
        $0 = "<g class=\"value\"><title>" text "</title>"
    }
}
/^<g fill="none" color=/ {
    flush()
    held = $0
    next
}
/^<\/g>$/ && held != "" {
    held = ""
    next
}
/^[ \t]*$/ {
    next
}
{
    flush()
    print
}
