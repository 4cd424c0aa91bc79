#!/usr/bin/env bash
# The report's page in a real browser, headless: it is opened from disk, sorted, filtered, a picture is
# enlarged and its values are read with the pointer and with keys, in light and dark; and the browser
# has nothing to complain of.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
# shellcheck source=tests/report/browser.bash
source "$SOURCE/tests/report/browser.bash"
needs gnuplot

# --- results of a known content ------------------------------------------------------------------

# shellcheck source=/dev/null
source "$SOURCE/tests/report/report_results.bash"
made_up_results page '.[3].status = "unsupported"' '.[3].reason = "beyond the horizon"' \
    '.[3].ns_per_event = null' '.[3].events_per_s = null' || exit 1
# Another page, of more structures with long names and other needs: what is seen first.
# shellcheck disable=SC2016 # the variables are jq's
made_up_results first '. + [range(4) as $k | .[2] | .algo = "made-up-structure-\($k)" | .options = "slots=65536"
    | .ns_per_event = 70 + 10 * $k | .bytes_peak = 5000000 / ($k + 1) | .wakeups = 70 / ($k + 1)]' || exit 1
jq '.context.traces = [{name: "some/where/day.one.trace", tick_ns: 1000000, window_seconds: 10}]
    | .rows[].window_events = 1000000' first/results.json >noted.json && mv noted.json first/results.json
"$TIMERLAB" report --no-pictures first 2>said || { cat said && exit 1; }
made_up_latency page
"$TIMERLAB" report page 2>said || { cat said && exit 1; }

open_session

# --- what is seen first --------------------------------------------------------------------------

request POST "$session/url" "{\"url\": \"file://$scratch/first/report.html\"}" >/dev/null || exit 1
for scheme in light dark; do
    for disabled in false true; do
        request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setEmulatedMedia", "params":
            {"features": [{"name": "prefers-color-scheme", "value": "'"$scheme"'"}]}}' >/dev/null
        scripts "$disabled"
        for size in '1300 800' '390 844'; do
            # shellcheck disable=SC2086 # two words
            screen $size
            what="$scheme, scripts disabled: $disabled, $size"
            expect "$what: the pick, the margin, the certainty, and the cost at the trace's rate" true \
                "$seen const text = document.querySelector('.verdict');
                 return shown(text) && ['Take quick', '50 % longer', 'Sure: 7 runs', 'of one core']
                     .every((words) => text.innerText.includes(words))"
            expect "$what: five rows with a bar and three figures each" '[5,5,15]' \
                "$seen const all = (what) => Array.from(document.querySelectorAll('#best tbody ' + what)).filter(shown);
                 return [all('th').length, all('.bar > span').length,
                         all('td').filter((e) => /[0-9]/.test(e.innerText)).length]"
            expect "$what: the longest bar is the slowest's" true \
                'const bars = Array.from(document.querySelectorAll("#best .bar > span"), (e) => e.clientWidth);
                 return bars[4] === Math.max(...bars) && bars[0] > 0 && bars[0] < bars[4] / 2'
            expect "$what: nothing reaches out of the page" true \
                'return document.documentElement.scrollWidth <= innerWidth'
            expect "$what: all else is folded" '[]' \
                'return Array.from(document.querySelectorAll("details[open]"), (e) => e.innerText)'
            shot "first-${scheme}-$disabled-${size% *}"
        done
    done
done
scripts false
request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setEmulatedMedia", "params":
    {"features": [{"name": "prefers-color-scheme", "value": "light"}]}}' >/dev/null
screen 1400 1000
request POST "$session/url" "{\"url\": \"file://$scratch/page/report.html\"}" >/dev/null || exit 1
shot wide
expect "the title" '"Which timer structure?"' 'return document.title'
expect "without a fault none are mentioned" false 'return document.querySelector("#faults") !== null'
run 'document.querySelectorAll("details.part").forEach((part) => { part.open = true; })' >/dev/null
expect "what a structure cannot take is in its row" true \
    'return Array.from(document.querySelectorAll("#all tbody tr"))
         .some((row) => row.innerText.includes("unsupported: beyond the horizon"))'
expect "headings of one table have their explanation" true \
    'return Array.from(document.querySelectorAll("#all thead button")).every(
         (button) => button.getAttribute("aria-description").length > 5)'

# --- the table -----------------------------------------------------------------------------------

names='return Array.from(document.querySelectorAll("#all tbody tr:not([hidden]) th"))
    .map((th) => th.textContent)'
expect "as it comes: the fastest first" \
    '["idle-one","quick","middling:size=3","slow:one|two"]' "$names"
by_time='#all thead th:nth-child(2)'
click "$by_time button"
expect "sorted by time, rising" '["idle-one","quick","middling:size=3","slow:one|two"]' "$names"
expect "and said so" '"ascending"' "return document.querySelector('$by_time').getAttribute('aria-sort')"
# From the keyboard. What has no figure stays at the end.
press $'\ue007'
expect "sorted by time, falling" '["middling:size=3","quick","idle-one","slow:one|two"]' "$names"
expect "and said so" '"descending"' "return document.querySelector('$by_time').getAttribute('aria-sort')"
click '#all thead th:nth-child(1) button'
expect "sorted by name" '["idle-one","middling:size=3","quick","slow:one|two"]' "$names"
expect "sorted by one column" 1 'return document.querySelectorAll("#all th[aria-sort]").length'
type_into 'input[data-filters=all]' 'QUI day'
expect "filtered by two words" '["quick"]' "$names"
expect "and said so" '"1 of 4 rows"' 'return document.querySelector(".filter output").textContent'
type_into 'input[data-filters=all]' ' nothing'
expect "filtered to nothing" '[]' "$names"
run 'const input = document.querySelector("input[data-filters=all]"); input.value = "";
     input.dispatchEvent(new Event("input"))' >/dev/null
expect "no filter" '["idle-one","middling:size=3","quick","slow:one|two"]' "$names"
run 'document.querySelector("#all thead th:nth-child(7) button").focus()' >/dev/null
expect "a column is explained at the focus" true \
    'const tip = document.querySelector("#tip"); return !tip.hidden && tip.textContent.includes("advance")'
press $'\ue00c'
expect "and no more after Escape" true 'return document.querySelector("#tip").hidden'

# --- a structure's description ---------------------------------------------------------------------

click '#all a[href="#structure-quick"]'
expect "the link opens the description" true \
    'const details = document.querySelector("#structure-quick");
     const box = details.getBoundingClientRect();
     return details.open && box.top >= 0 && box.top < innerHeight'

# --- pictures --------------------------------------------------------------------------------------

figures='document.querySelectorAll("main figure")'
expect "five pictures" 5 "return ${figures}.length"
run "${figures}[0].scrollIntoView({block: 'center'})" >/dev/null
shot pictures
place="const values = Array.from(${figures}[0].querySelectorAll('g.value'));
    const group = values.find((g) => g.dataset.value.startsWith('quick: 40.0'));
    const box = group.getBoundingClientRect();
    return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]"
at=$(run "$place")
pointer_to "$(jq '.[0] + 12' <<<"$at")" "$(jq '.[1] + 4' <<<"$at")"
expect "the value under the pointer" '"quick: 40.0 ± 1.00, Time per event, day.one"' \
    'return document.querySelector("#tip").hidden || document.querySelector("#tip").textContent'
shot value
click 'main figure:nth-of-type(2) .enlarge'
expect "a picture is enlarged" true \
    'const box = document.querySelector("dialog[open] svg").getBoundingClientRect();
     return box.width > 900'
expect "with its title" '"Latency by percentile, day.one"' \
    'return document.querySelector("#enlarged-title").textContent'
press $'\ue014'
press $'\ue014'
expect "an arrow key reads a value" true \
    'return document.querySelector("#value").textContent.includes("12.0 ns at ")'
expect "and marks it" 1 'return document.querySelectorAll("dialog .value.shown").length'
shot enlarged
press $'\ue00c'
expect "Escape closes it" null 'return document.querySelector("dialog[open]")'
expect "and the focus is where it was" '"Enlarge: Latency by percentile, day.one"' \
    'return document.activeElement.getAttribute("aria-label")'
run "${figures}[0].querySelector('summary').click()" >/dev/null
expect "a picture's data is a table" 5 "return ${figures}[0].querySelectorAll('.data tr').length"

# --- light and dark --------------------------------------------------------------------------------

# The contrast of text, and of pictures, with what is behind them: WCAG's ratio.
contrast='const luminance = (colour) => {
        const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => {
            const c = part / 255;
            return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!colour.startsWith("rgba(") || !colour.endsWith(" 0)")) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const ratio = (element, colour) => {
        const pair = [luminance(colour), luminance(behind(element))].sort();
        return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    };'
legible="$contrast
    const low = [];
    document.querySelectorAll('p, li, td, tbody th, h1, h2, h3, button, a, figcaption, caption').forEach((e) => {
        if (e.innerText && e.innerText.trim() && !e.hidden && ratio(e, getComputedStyle(e).color) < 4.5)
            low.push(e.tagName + ': ' + e.innerText.slice(0, 30));
    });
    document.querySelectorAll('figure svg text').forEach((e) => {
        if (ratio(e, getComputedStyle(e).fill) < 4.5) low.push('picture: ' + e.textContent);
    });
    return low.slice(0, 5)"
paper='return getComputedStyle(document.body).backgroundColor'
light=$(run "$paper")
expect "light: all can be read" '[]' "$legible"
click '#theme'
click '#theme'
expect "the dark theme is chosen" '"dark"' 'return document.documentElement.dataset.theme'
dark=$(run "$paper")
[ "$light" != "$dark" ] || complain "dark is light: $dark"
expect "dark: all can be read" '[]' "$legible"
run 'scrollTo(0, 0)' >/dev/null
shot dark
run "${figures}[0].scrollIntoView({block: 'center'})" >/dev/null
shot dark-pictures
click '#theme'
expect "back to what the system prefers" '"auto"' 'return document.documentElement.dataset.theme'
request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setEmulatedMedia", "params":
    {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}}' >/dev/null
expect "a system that prefers dark gets it" "$dark" "$paper"

# --- the knobs of a sweep --------------------------------------------------------------------------

# shellcheck disable=SC2016 # the variables are jq's
made_up_results sweep '[range(3) as $i | range(2) as $k | .[] |
    .trace = "rpc-connections=\([1, 10, 100][$i])k-cancelled=\($k / 2).trace" |
    if .algo == "quick" and $i == 2 and $k == 1 then .ns_per_event = 90 else . end]' || exit 1
"$TIMERLAB" report --no-pictures sweep 2>said || complain "a sweep has no page: $(cat said)"
request POST "$session/url" "{\"url\": \"file://$scratch/sweep/report.html\"}" >/dev/null
verdicts='return Array.from(document.querySelectorAll(".answer:not([hidden]) .verdict"), (e) => e.innerText.split(":").slice(0, 2).join(":"))'
screen 1300 800
expect "knobs: a slider for each, at the first point" '["connections 1k","cancelled 0"]' \
    'return Array.from(document.querySelectorAll("#knobs label"), (e) => e.innerText.replace(/\s+/g, " ").trim())'
expect "knobs: the answer of the first point" '["rpc-connections=1k-cancelled=0.trace: Take quick"]' "$verdicts"
for knob in 1 1 2; do
    run "document.querySelector('#knobs label:nth-of-type($knob) input').focus()" >/dev/null
    press $'\ue014'
done
expect "knobs: the answer follows the sliders" '["rpc-connections=100k-cancelled=0.5.trace: Take middling"]' "$verdicts"
expect "knobs: answer and rows are on the first screen" '[true,3]' \
    "$seen return [shown(document.querySelector('.answer:not([hidden]) .verdict')),
         Array.from(document.querySelectorAll('.answer:not([hidden]) tbody th')).filter(shown).length]"
shot knobs
scripts true
expect "knobs: without scripts the first point is shown, the others are folded" '["rpc-connections=1k-cancelled=0.trace"]' \
    "return Array.from(document.querySelectorAll('.answer')).filter((e) => e.checkVisibility()).map((e) => e.dataset.trace)"
scripts false
request POST "$session/url" "{\"url\": \"file://$scratch/page/report.html\"}" >/dev/null

# --- the steps of `show` -----------------------------------------------------------------------------

"$TIMERLAB" show hier-wheel:slots=3 'start <b> 4; start c 2; tick 4' -q -o steps.html 2>said || complain "show: $(cat said)"
request POST "$session/url" "{\"url\": \"file://$scratch/steps.html\"}" >/dev/null
step='return [document.querySelectorAll("figure.shown").length,
    Array.from(document.querySelectorAll("figure")).findIndex((e) => e.className === "shown"),
    document.querySelector("output").innerText, document.querySelector("button").innerText]'
expect "show: the first step" '[1,0,"step 0 of 6","Play"]' "$step"
run 'document.querySelector("input").focus()' >/dev/null
press $'\ue014'
expect "show: the slider leads to the next" '[1,1,"step 1 of 6","Play"]' "$step"
# The test is the clock.
run 'window.setInterval = (tick) => { window.tick = tick; return 1; }; document.querySelector("button").click()' >/dev/null
expect "show: it plays" '[1,1,"step 1 of 6","Pause"]' "$step"
run 'window.tick(); window.tick()' >/dev/null
expect "show: two steps later" '[1,3,"step 3 of 6","Pause"]' "$step"
run 'window.tick(); window.tick(); window.tick()' >/dev/null
expect "show: it ends with the last" '[1,6,"step 6 of 6","Play"]' "$step"
shot steps
scripts true
expect "show: without scripts the first step is shown" '[0]' \
    "return Array.from(document.querySelectorAll('figure')).map((e, i) => e.checkVisibility() ? i : -1).filter((i) => i >= 0)"
scripts false
request POST "$session/url" "{\"url\": \"file://$scratch/page/report.html\"}" >/dev/null

# --- narrow ----------------------------------------------------------------------------------------

request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setDeviceMetricsOverride", "params":
    {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true}}' >/dev/null
run 'scrollTo(0, 0)' >/dev/null
expect "narrow: nothing reaches out of the page" true \
    'return document.documentElement.scrollWidth <= innerWidth'
shot narrow
run "${figures}[0].scrollIntoView()" >/dev/null
shot narrow-pictures

# --- identifiers, names, and complaints ---------------------------------------------------------------

expect "each identifier is there once" '[]' \
    'const ids = Array.from(document.querySelectorAll("[id]")).map((e) => e.id);
     return ids.filter((id, i) => ids.indexOf(id) !== i)'
expect "each link leads somewhere" '[]' \
    'return Array.from(document.querySelectorAll("a[href^=\"#\"]")).map((a) => a.hash.slice(1))
         .filter((id) => !document.getElementById(decodeURIComponent(id)))'
expect "tables, pictures and fields have names" '[]' \
    'return Array.from(document.querySelectorAll("main table, main figure svg, input"))
         .filter((e) => !(e.caption && e.caption.textContent) && !e.getAttribute("aria-label") &&
                        !(e.labels && e.labels.length) && !e.closest(".data"))
         .map((e) => e.outerHTML.slice(0, 60))'
complaints=$(request POST "$session/se/log" '{"type": "browser"}')
[ "$complaints" = '[]' ] || complain "the browser complains: $complaints"

finish
