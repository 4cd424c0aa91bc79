# browser.bash: a page in headless Chromium, driven through chromedriver's own protocol (WebDriver) with curl. For tests,
# which source it after lib.sh; open_session starts the browser. With SHOTS=FOLDER in the environment, `shot NAME` leaves
# a screenshot there.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of those who source it, and of lib.sh

# Keys beyond ASCII are written as \u below, which another locale does not know.
export LC_ALL=C.UTF-8
needs chromium chromedriver curl jq

driver=
cleanup() {
    [ -z "${session-}" ] || curl -s -X DELETE "$session" >/dev/null
    [ -z "$driver" ] || kill "$driver" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT

# request METHOD URL JSON: the value that chromedriver answers with.
request() {
    curl -s -X "$1" -H 'Content-Type: application/json' "$2" ${3:+-d "$3"} | jq -c '.value |
        if type == "object" and has("error") then .message | error else . end'
}

open_session() {
    local answer port=
    chromedriver --port=0 >driver.txt 2>&1 &
    driver=$!
    for _ in $(seq 200); do
        port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' driver.txt)
        [ -n "$port" ] && break
        kill -0 "$driver" 2>/dev/null || break
        sleep 0.05
    done
    [ -n "$port" ] || { cat driver.txt && skip "chromedriver does not start"; }
    answer=$(request POST "http://127.0.0.1:$port/session" '{"capabilities": {"alwaysMatch": {
        "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {"binary": "'"$(command -v chromium)"'", "args": ["--headless=new",
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--force-prefers-reduced-motion", "--user-data-dir='"$scratch"'/profile"]}}}}') ||
        skip "chromium does not start: $(tail -n 3 driver.txt)"
    session=http://127.0.0.1:$port/session/$(jq -r .sessionId <<<"$answer")
}

# run SCRIPT: the body of a function in the page; what it returns, as JSON.
run() {
    request POST "$session/execute/sync" "$(jq -n --arg script "$1" '{script: $script, args: []}')"
}

# expect WHAT WANTED SCRIPT: the script returns what is wanted.
expect() {
    local got
    got=$(run "$3")
    [ "$got" = "$2" ] || complain "$1: $got, not $2"
}

# The page's element, for clicks and keys as a person makes them.
element() {
    request POST "$session/element" "$(jq -n --arg css "$1" '{using: "css selector", value: $css}')" |
        jq -r '.[]'
}
click() {
    request POST "$session/element/$(element "$1")/click" '{}' >/dev/null || complain "$1: no click"
}
type_into() {
    request POST "$session/element/$(element "$1")/value" "$(jq -n --arg text "$2" '{text: $text}')" \
        >/dev/null || complain "$1: takes no keys"
}
press() {
    request POST "$session/actions" "$(jq -n --arg key "$1" '{actions: [{type: "key", id: "keys",
        actions: [{type: "keyDown", value: $key}, {type: "keyUp", value: $key}]}]}')" >/dev/null
}
pointer_to() {
    request POST "$session/actions" "{\"actions\": [{\"type\": \"pointer\", \"id\": \"mouse\",
        \"parameters\": {\"pointerType\": \"mouse\"}, \"actions\": [{\"type\": \"pointerMove\",
        \"x\": $1, \"y\": $2, \"duration\": 0}]}]}" >/dev/null || complain "the pointer does not move"
}
shot() {
    if [ -n "${SHOTS-}" ]; then
        mkdir -p "$SHOTS"
        request GET "$session/screenshot" | jq -r . | base64 -d >"$SHOTS/$1.png"
    fi
}

# screen WIDTH HEIGHT: the page is seen on a screen of this size.
screen() {
    request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setDeviceMetricsOverride", "params":
        {"width": '"$1"', "height": '"$2"', "deviceScaleFactor": 1, "mobile": false}}' >/dev/null
    run 'scrollTo(0, 0)' >/dev/null
}
# scripts ON: whether the page's own scripts run.
scripts() {
    request POST "$session/goog/cdp/execute" '{"cmd": "Emulation.setScriptExecutionDisabled",
        "params": {"value": '"$1"'}}' >/dev/null
    request POST "$session/refresh" '{}' >/dev/null
}
seen='const shown = (e) => { const box = e.getBoundingClientRect();
        return box.width > 0 && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight &&
               box.left >= 0 && box.right <= innerWidth; };'
