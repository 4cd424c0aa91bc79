#!/usr/bin/env bash
# timerlab tune: on traces whose best answer is known beforehand it finds that answer, keeps to the
# limits, and says so.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# tunes ANSWER ARGUMENT...: the first line says "Take ANSWER", or that ANSWER is the only one.
tunes() {
    local answer=$1
    shift
    "$TIMERLAB" tune "$@" >out 2>err </dev/null || complain "tune $*: exit status $?: $(cat err)"
    [ "$(sed -nE '1s/^[^ ]+: (Take )?([^ ]+) .*/\2/; 1s/:$//p' out)" = "$answer" ] ||
        [ "$(sed -nE '1s/^[^ ]+: (Take )?([^ ]+) .*/\2/p' out)" = "$answer" ] || complain "tune $*: not $answer:
$(cat out)"
}

says() {
    grep -qE -- "$1" out || complain "it does not say '$1':
$(cat out)"
}

# trace NAME: of the CSV on standard input
trace() {
    { echo tick,id,op,delay && cat; } >"$1.csv"
    "$TIMERLAB" trace import csv "$1.csv" -o "$1.trace" 2>err || complain "$(cat err)"
}

# A structure whose work is least at slots=512:mode=good, and grows with the distance from there; or,
# with -DSPIN=n, one that only takes time; or, with -DHIDES, one by the name of `hides` that does the
# same and says that it keeps memory of its own.
cat >valley.c <<'EOF'
#define timerlab_algo inner
#include "structures/ordered_list.c"
#undef timerlab_algo
#ifndef SPIN
#define SPIN 0
#endif
#ifdef HIDES
#define NAME "hides"
#define HIDDEN TL_CAP_OWN_MEMORY
#else
#define NAME "valley"
#define HIDDEN 0u
#endif
struct values { uint64_t slots; uint32_t mode; };
struct valley {
    struct ordered_list *list;
    uint64_t burden;
    const struct tl_allocator *allocator;
};
static enum tl_status valley_create(const struct tl_config *config, void **self)
{
    struct valley *valley = tl_alloc(config->allocator, sizeof *valley, 16);
    void *list = NULL;
    uint64_t distance = 0;
    if (valley == NULL || inner.create(config, &list) != TL_OK) {
        return TL_ERR_NOMEM;
    }
    const struct values *values = config->options;
    for (uint64_t slots = values->slots; slots > 512; slots /= 2) {
        distance++;
    }
    for (uint64_t slots = values->slots; slots < 512; slots *= 2) {
        distance++;
    }
    *valley = (struct valley){list, 10 * distance + 30 * values->mode, config->allocator};
    *self = valley;
    return TL_OK;
}
static void valley_destroy(void *self)
{
    struct valley *valley = self;
    inner.destroy(valley->list);
    tl_free(valley->allocator, valley, sizeof *valley, 16);
}
static enum tl_status valley_reserve(void *self, uint32_t capacity)
{
    return inner.reserve(((struct valley *)self)->list, capacity);
}
static enum tl_status valley_start(void *self, uint32_t id, uint64_t deadline)
{
    struct valley *valley = self;
    TL_COUNT(valley->list, moves, valley->burden);
    for (volatile unsigned i = 0; i < SPIN; i++) {
    }
    return inner.start(valley->list, id, deadline);
}
static enum tl_status valley_stop(void *self, uint32_t id)
{
    return inner.stop(((struct valley *)self)->list, id);
}
static uint64_t valley_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    return inner.advance(((struct valley *)self)->list, now, budget, fire, ctx);
}
static uint64_t valley_next(const void *self)
{
    return inner.next(((const struct valley *)self)->list);
}
static uint64_t valley_count(const void *self)
{
    return inner.count(((const struct valley *)self)->list);
}
static void valley_counters(const void *self, struct tl_counters *out)
{
    inner.counters(((const struct valley *)self)->list, out);
}
static const struct tl_choice modes[] = {{"good", 0, "the right one"}, {"bad", 1, "not"}, {0}};
static const struct tl_option options[] = {{"slots", TL_U64(struct values, slots), 4096, 1, 1 << 20, NULL, "best at 512"},
                                           {"mode", TL_CHOICE(struct values, mode), 1, 0, 0, modes, "best when good"},
                                           {0}};
const struct tl_algo timerlab_algo = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED |
                    HIDDEN,
    .name = NAME, .summary = "s", .origin = "o", .description = "d",
    .cost = {"1", "1", "1", "1"}, .options = options, .options_bytes = sizeof(struct values), .create = valley_create,
    .destroy = valley_destroy, .reserve = valley_reserve, .start = valley_start, .stop = valley_stop,
    .advance = valley_advance, .next = valley_next, .count = valley_count, .counters = valley_counters};
EOF
"$CC" -O1 -shared -fPIC -DTL_COUNTERS -I"$SOURCE/algos" -I"$SOURCE/algos/parts" valley.c -o valley.so || complain "valley.c does not compile"
"$CC" -O1 -shared -fPIC -DTL_COUNTERS -DSPIN=5000 -I"$SOURCE/algos" -I"$SOURCE/algos/parts" valley.c -o slow.so || complain "nor does it slow"
"$CC" -O1 -shared -fPIC -DTL_COUNTERS -DHIDES -I"$SOURCE/algos" -I"$SOURCE/algos/parts" valley.c -o hides.so || complain "nor does it hide"

# 200 timers, each restarted every 10 ticks and due after 50: dense
awk 'BEGIN { for (t = 0; t < 300; t++) for (i = t % 10; i < 200; i += 10) printf "%d,%d,start,50\n", t, i }' |
    trace dense
# 5 timers that fire once in a hundred thousand ticks
awk 'BEGIN { for (t = 0; t < 20; t++) printf "%d,%d,start,100000\n", t * 20000, t % 5 }' | trace sparse

# the options that the work is least at, from wherever it begins
tunes valley:slots=512:mode=good dense.trace --plugin ./valley.so -a valley --counts
tail -n 1 out | grep -q '^to use it  valley cannot be exported: it is a plug-in' || complain "says no reason: $(tail -n 1 out)"
says ' is the only structure to choose from\.$'
tunes valley:slots=512:mode=good dense.trace --plugin ./valley.so -a valley:slots=7 --counts
tunes valley:slots=512:mode=good dense.trace --plugin ./valley.so -a valley:slots=1m:mode=good --counts
tunes valley dense.trace --plugin ./valley.so -a valley --counts --fixed

# of two that do as much the one with the least memory, whichever is named first; and memory that is not counted is no
# small memory
tunes valley dense.trace --plugin ./valley.so --plugin ./hides.so -a hides,valley --counts --fixed
says 'tied with hides'
says 'and needs the$|needs the least memory of these'
tunes valley dense.trace --plugin ./valley.so --plugin ./hides.so -a valley,hides --counts --fixed

# dense traffic: a slot for each tick does least; sparse: who sleeps through it
tunes simple-wheel dense.trace -a binary-heap,simple-wheel,rbtree --counts --fixed
# The answer ends with the command that hands it over, which works.
exports=$(tail -n 1 out | sed -n 's/^to use it  timerlab //p')
[ "$exports" = "export simple-wheel -o timers" ] || complain "ends with: $(tail -n 1 out)"
read -ra words <<<"$exports"
"$TIMERLAB" "${words[@]}" || complain "'$exports': exit status $?"
[ -s timers/simple_wheel.c ] || complain "'$exports' does not work"
says '^the counts\. Counts do not include cache misses|by the counts\. Counts do not include'
tunes binary-heap sparse.trace -a simple-wheel,round-wheel,binary-heap --counts
tunes simple-wheel dense.trace -a binary-heap,simple-wheel --counts --drive poll --fixed

# one timeout for all: the wheel for that finds out which
tunes fixed-wheel:timeout=50 dense.trace -a fixed-wheel --counts

# limits: each leaves out what breaks it, and says which
tunes binary-heap dense.trace -a simple-wheel:slots=65536,binary-heap --counts --max-bytes 64K --fixed
says '^simple-wheel:slots=65536 .*out: takes [0-9]+ bytes'
tunes binary-heap dense.trace -a simple-wheel,binary-heap --counts --max-wakeups 900 --fixed
says '^simple-wheel .*out: wakes 1[0-9]* times a second'
awk 'BEGIN { for (t = 0; t < 1500; t++) printf "%d,%d,start,%d\n", t, t % 700, 600 + t % 7 }' | trace coarse
tunes hier-wheel coarse.trace -a hier-wheel,coarse-wheel --counts --fixed
says '^coarse-wheel .*out: up to [0-9]+ ticks late'
tunes coarse-wheel coarse.trace -a binary-heap,coarse-wheel --counts --fixed --max-lateness 100ms
says '^lateness   up to [0-9]+ ticks \([0-9.]+ ms\) late, by its promise at most [0-9]+ ticks \([0-9.]+ ms\) late; it fires 870 of the 898 timers'
tunes binary-heap coarse.trace -a binary-heap,coarse-wheel --counts --fixed --max-lateness 100ms --exact
says '^coarse-wheel .*out: does not promise to be exact'
tunes hier-wheel coarse.trace -a hier-wheel:tick=8,hier-wheel --counts --fixed
says '^hier-wheel:tick=8 .*out: up to [1-7] ticks early'
# A loop may poll as seldom as the tolerance allows. Of 10 timers, due at 10, 20 ... 100, each wakes a loop that sleeps;
# polls at 30, 60 ... 180 are 6 in 200 ms, and fire those due at 10, 40, 70 and 100 late by 20 ticks.
{
    for i in {1..10}; do echo "0,$i,start,${i}0"; done
    echo '# end_tick: 200'
} | trace ten
tunes binary-heap ten.trace -a binary-heap --counts --fixed --max-lateness 29
says '^wake less  --drive poll:30: 30 wakeups a second instead of 50; timers fire up to 20 ticks late$'
"$TIMERLAB" tune ten.trace -a binary-heap --counts --fixed --max-lateness 29 --format json 2>err |
    jq -e '.few_wakeups == {drive: "poll:30", wakeups_per_s: 30, lateness_max: 20}' >/dev/null || complain "$(cat err)"
for other in "--max-lateness 19" "--max-lateness 29 --drive poll" ""; do
    # shellcheck disable=SC2086 # several words
    tunes binary-heap ten.trace -a binary-heap --counts --fixed $other
    grep '^wake less' out && complain "$other: polls are no fewer"
done
# what may be late may have a coarser tick: it then does less
tunes 'simple-wheel:tick=64' coarse.trace -a simple-wheel --counts --drive poll --max-lateness 63

# What is late is not taken unless it is asked for, however little it does: here it fires 55 where an
# exact structure fires 4,750. What it would gain stands beside, in the user's units.
awk 'BEGIN { for (t = 0; t < 50000; t += 10) printf "%d,%d,start,2500\n", t, t / 10 % 251 }' | trace cached
tunes binary-heap cached.trace -a binary-heap,cache-wheel --counts --fixed
says '^cache-wheel .*out: up to 1023 ticks late by its promise$'
if grep -q '^lateness' out; then complain "what is exact has a lateness: $(cat out)"; fi
says '^tolerance  --max-lateness 1023 would allow cache-wheel: up to 1,020 ticks \([0-9.]+ ms\) late, by its promise at most 1,023 ticks \(1023.0 ms\) late; it fires 55 of the 4,750 timers that exact structures fire \(98.8 % averted\)$'
tunes cache-wheel cached.trace -a binary-heap,cache-wheel --counts --fixed --max-lateness 1023ms
says '^lateness   .*; it fires 55 of the 4,750 timers that exact structures fire \(98.8 % averted\)$'
"$TIMERLAB" tune cached.trace -a binary-heap,cache-wheel --counts --fixed --format json >out 2>err || complain "$(cat err)"
jq -e '.open_loop and .best.done == 1 and .best.declared_late == 0 and .later.algo == "cache-wheel"
    and (.later.averted / .exact_fired - .later.averted_share | fabs) < 1e-9 and .later.done < 1' out >/dev/null ||
    complain "the JSON does not have what lateness would gain: $(cat out)"
# What a timer's firing starts again is started as often as it fires: what is late does not win by that.
awk 'BEGIN { print "tick,id,op,delay,cause"; for (t = 1; t < 20000; t++) if (t % 1000 % 7 == 0)
    printf "%d,%d,start,1000,%s\n", t, t % 1000 / 7, t < 1000 ? "" : t % 1000 / 7 }' >beats.csv
"$TIMERLAB" trace import csv beats.csv -o beats.trace 2>err || complain "$(cat err)"
"$TIMERLAB" tune beats.trace --counts --fixed -a binary-heap,cache-wheel >out 2>err || complain "$(cat err)"
says '^tolerance  .* timers that exact structures fire \(none averted, 1[0-9]+ of 2,[0-9]+ reactions not reached\)$'
if grep -q 'open loop' out; then complain "a trace with causes is called open loop"; fi

# model TRACE LATENESS: the structure with the least work for as many operations and firings as an exact
# one has, of equals the one with the least memory, by the rows of sim.
model() {
    "$TIMERLAB" sim "$1" -a all --runs 0 --format json 2>/dev/null | jq -r --argjson lateness "$2" '
        [.rows[] | select(.status == "ok" and .n_moves != null)] as $rows
        | ($rows | map(select(.algo == "binary-heap"))[0]) as $exact
        | [$rows[] | select(.declared_late <= $lateness and .declared_early == 0)]
        | min_by([(2 * .n_compares + 5 * .n_moves + 3 * .n_slots + 5 * .n_cascades + 8 * .wakeups)
                  * ($exact.events + $exact.fired) / (.events + .fired), .bytes_peak]) | .algo'
}
for lateness in 0 1024; do
    for name in dense cached beats; do
        tunes "$(model "$name.trace" "$lateness")" "$name.trace" --counts --fixed --max-lateness "$lateness"
    done
done

# Nothing is allowed beyond what the limit says, and nothing by what was measured alone.
tunes binary-heap cached.trace -a binary-heap,cache-wheel --counts --fixed --max-lateness 1022
runs 1 "$TIMERLAB" tune cached.trace -a cache-wheel --counts --fixed
says 'Nothing keeps to the limits'
says '^tolerance  --max-lateness 1023 would allow cache-wheel: '
runs 1 "$TIMERLAB" tune dense.trace -a binary-heap --counts --max-bytes 100
says 'Nothing keeps to the limits'
says '^binary-heap .*out: takes'

# by the clock: of two that count the same, the one that is not slow
tunes fast dense.trace --plugin ./valley.so,fast --plugin ./slow.so,slow -a slow,fast --seconds 1 \
    --max-stall 10s -o answer.json --fixed
says 'slow takes [0-9.,]+ times as long'
says 'Sure: [0-9]+ runs\.'
says 'longest pause$'
grep -q '"algo": "fast"' answer.json || complain "the answer is not in the file"
# ... beside which that runs which may only not be so late, whatever the clock says of it
tunes binary-heap cached.trace -a binary-heap,cache-wheel --seconds 1 --fixed -o answer.json
jq -e '.candidates | any(.algo == "cache-wheel" and .stage == "final" and (.fits | not) and (.samples.ns_per_event | length) >= 5)' \
    answer.json >/dev/null || complain "what may not be so late was not run: $(cat answer.json)"
runs 1 "$TIMERLAB" tune dense.trace -a binary-heap --seconds 1 --max-stall 1ns --fixed
says 'stalls for [0-9]+ ns'
"$TIMERLAB" tune dense.trace -a binary-heap,simple-wheel --counts --format json >out 2>err || complain "$(cat err)"
grep -q '"certainty": "counts"' out || complain "no certainty in the JSON"
# a name that is no UTF-8, which JSON must be
cp dense.trace $'\xff.trace'
"$TIMERLAB" tune $'\xff.trace' -a binary-heap --counts --fixed --format json >out 2>err || complain "$(cat err)"
jq -e '.trace == "%FF.trace"' out >/dev/null || complain "the trace is called $(jq .trace out)"

# all structures, whatever they are, one after the other
"$TIMERLAB" tune dense.trace --counts --fixed >out 2>err || complain "$(cat err)"
says 'Take '
says '^tried      [0-9]+ structures with [0-9]+ sets of options that keep to the limits'
says 'the clock may$|the clock may prefer'
structures=$("$TIMERLAB" list --format json | jq '[.[] | select(.capabilities | index("baseline") | not)] | length')
[ "$(grep -cE ' (counted|final) ' out)" -eq "$structures" ] || complain "not a line for each structure"

# Options that take far more memory than any structure by default are not tried.
"$TIMERLAB" trace gen server -n 2000 --seconds 3 -o server.trace 2>err || complain "$(cat err)"
"$TIMERLAB" tune server.trace -a spoke-wheel,binary-heap --counts --format json >out 2>err || complain "$(cat err)"
jq -e '[.candidates[].bytes_peak // 0] | length > 10 and max < 100e6' out >/dev/null ||
    complain "a candidate of much memory was tried: $(jq -c '[.candidates[] | [.options, .bytes_peak]]' out)"
# The same is answered again.
for i in 1 2 3; do
    "$TIMERLAB" tune server.trace --counts --fixed 2>err | head -n 1
done | sort -u >out
[ "$(wc -l <out)" -eq 1 ] || complain "counts are answered differently: $(cat out)"
# A search that is ended by its time has an answer all the same, and says so.
"$TIMERLAB" tune server.trace --seconds 0.1 >out 2>err || complain "$(cat err)"
says '^time       ended the search'
# On a terminal the answer is last, so that it stays on the screen.
script -qec "'$TIMERLAB' tune dense.trace -a binary-heap,simple-wheel --counts --fixed" /dev/null </dev/null | tr -d '\r' >out
[ "$(grep -oE 'structure +stage|: Take |^to use it' out | paste -sd ,)" = 'structure     stage,: Take ,to use it' ] || complain "on a terminal the answer is not last: $(cat out)"

refuses 2 'which trace' "$TIMERLAB" tune -a all
refuses 2 'one trace at a time' "$TIMERLAB" tune dense.trace sparse.trace
refuses 2 'fires nothing' "$TIMERLAB" tune dense.trace -a null
refuses 2 'takes ticks' "$TIMERLAB" tune dense.trace --max-lateness soon
refuses 2 '--max-stall needs times' "$TIMERLAB" tune dense.trace --counts --max-stall 5us
refuses 2 '--max-stall takes nanoseconds from 0 to 1e\+18, or a time .*, not .5m' "$TIMERLAB" tune dense.trace --max-stall 5m
refuses 2 'takes bytes' "$TIMERLAB" tune dense.trace --max-bytes much
tunes binary-heap dense.trace -a binary-heap --counts --drive poll:10 --fixed
says '^lateness   up to [1-9] ticks? .* late, all of it by the drive'
refuses 2 'takes sleep, slack, poll, or poll:N' "$TIMERLAB" tune dense.trace --drive hop
refuses 2 "did you mean 'binary-heap'" "$TIMERLAB" tune dense.trace -a binary-hep
refuses 1 'none.trace' "$TIMERLAB" tune none.trace

finish
