/*
 * Reactions happen inside callbacks, so a late structure starts late, and skips no work. The next
 * delay is looked up by a mixture of the timer and its tick, which the callback sums up anyway:
 * exact structures get the same delays in any order within a tick, late ones others from the same
 * table.
 */
#include "stream_player.h"

#include <string.h>

enum { ASK_ADVANCES = 256 /* how often patience is asked for */ };

#define INLINE static inline __attribute__((always_inline))

/* --- records --------------------------------------------------------------------------------- */

/* How many lines of a connection's record are touched. */
enum touched { TOUCH_NONE, TOUCH_FIRST, TOUCH_BOTH, TOUCHED };

static enum touched touched_of(const struct fixture *fixture)
{
    return fixture->record_bytes == 0                  ? TOUCH_NONE
           : fixture->record_bytes > RECORD_LINE_BYTES ? TOUCH_BOTH
                                                       : TOUCH_FIRST;
}

INLINE void count_at(void *at)
{
    uint64_t count = 0;
    memcpy(&count, at, sizeof count);
    count++;
    memcpy(at, &count, sizeof count);
}

/* `touched`, `restart`, `watch` and a `scale` of 1 are constants in each caller, here and below. */
INLINE void touch(const struct fixture *fixture, uint32_t id, enum touched touched)
{
    if (touched != TOUCH_NONE) {
        unsigned char *record = fixture->records + (size_t)id * fixture->record_bytes;
        count_at(record);
        if (touched == TOUCH_BOTH) {
            count_at(record + fixture->record_bytes - sizeof(uint64_t));
        }
    }
}

/* --- callbacks ------------------------------------------------------------------------------- */

/* With a scale, the stream's tick is known by its clock, and the sum is spoilt if it is not the one
 * that `now` gives. */
INLINE void fired(struct fixture *fixture, uint32_t id, uint64_t now, enum touched touched,
                  bool restart, uint64_t scale)
{
    struct fired *sums = &fixture->fired;
    uint64_t tick = scale == 1 ? now : fixture->clock;
    uint64_t mixed = workload_mix(id, tick - sums->base);
    sums->count++;
    sums->ids += id;
    sums->checksum += mixed + (scale != 1 && now != tick * scale);
    if (id >= fixture->ids) { /* the checks find it */
        return;
    }
    touch(fixture, id, touched);
    if (restart) {
        uint32_t delay_ticks = stream_next_delay(fixture->operations, mixed);
        enum tl_status status =
            fixture->algo->start(fixture->self, id, deadline_at(tick, id, delay_ticks, scale));
        if (status != TL_OK) {
            fixture->failure = status;
        }
    }
}

#define CALLBACK(name, touched, restart, scale)                                                    \
    static void name(void *ctx, uint32_t id, uint64_t now)                                         \
    {                                                                                              \
        struct fixture *fixture = ctx;                                                             \
        fired(fixture, id, now, touched, restart, scale);                                          \
    }
CALLBACK(on_count, TOUCH_NONE, false, 1)
CALLBACK(on_count_first, TOUCH_FIRST, false, 1)
CALLBACK(on_count_both, TOUCH_BOTH, false, 1)
CALLBACK(on_count_scaled, touched_of(fixture), false, fixture->scale)
CALLBACK(on_restart, TOUCH_NONE, true, 1)
CALLBACK(on_restart_first, TOUCH_FIRST, true, 1)
CALLBACK(on_restart_both, TOUCH_BOTH, true, 1)
CALLBACK(on_restart_scaled, touched_of(fixture), true, fixture->scale)

static tl_fire_fn callback_of(const struct fixture *fixture)
{
    static const tl_fire_fn callbacks[2][TOUCHED + 1] = {
        {on_count, on_count_first, on_count_both, on_count_scaled},
        {on_restart, on_restart_first, on_restart_both, on_restart_scaled},
    };
    bool restart = stream_of(fixture)->key.callback != 0;
    return callbacks[restart][fixture->scale == 1 ? touched_of(fixture) : TOUCHED];
}

/* --- loops ----------------------------------------------------------------------------------- */

INLINE enum tl_status start_each(const struct fixture *fixture, uint64_t now,
                                 const struct workload_start *starts, size_t count,
                                 enum touched touched, struct watch *watch, uint64_t scale)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    void *self = fixture->self;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        touch(fixture, starts[i].id, touched);
        uint64_t begun = watch != NULL ? clock_cycles() : 0;
        enum tl_status status =
            start(self, starts[i].id, deadline_at(now, starts[i].id, starts[i].delay_ticks, scale));
        if (watch != NULL) {
            watch_call(watch, WATCHED_START, begun);
        }
        failure = status != TL_OK ? status : failure;
    }
    return failure;
}

INLINE enum tl_status start_loop(const struct fixture *fixture, uint64_t now,
                                 const struct workload_start *starts, size_t count,
                                 enum touched touched, struct watch *watch)
{
    return fixture->scale == 1
               ? start_each(fixture, now, starts, count, touched, watch, 1)
               : start_each(fixture, now, starts, count, touched, watch, fixture->scale);
}

INLINE void stop_loop(const struct fixture *fixture, const uint32_t *stops, size_t count,
                      enum touched touched, struct watch *watch)
{
    enum tl_status (*stop)(void *, uint32_t) = fixture->algo->stop;
    void *self = fixture->self;
    for (size_t i = 0; i < count; i++) {
        touch(fixture, stops[i], touched);
        uint64_t begun = watch != NULL ? clock_cycles() : 0;
        (void)stop(self, stops[i]);
        if (watch != NULL) {
            watch_call(watch, WATCHED_STOP, begun);
        }
    }
}

INLINE void advance_once(struct fixture *fixture, uint64_t now, tl_fire_fn fire,
                         struct watch *watch)
{
    fixture->clock = now;
    uint64_t begun = watch != NULL ? clock_cycles() : 0;
    (void)fixture->algo->advance(fixture->self, now * fixture->scale, TL_NO_BUDGET, fire, fixture);
    if (watch != NULL) {
        watch_call(watch, WATCHED_ADVANCE, begun);
    }
}

INLINE void play_loop(struct fixture *fixture, struct stream_place *place, size_t count,
                      enum touched touched, struct watch *watch)
{
    tl_fire_fn fire = callback_of(fixture);
    const struct stream_tick *ticks = place->piece->ticks + place->tick;
    const uint32_t *stops = place->piece->stops + place->stop;
    const struct workload_start *starts = place->piece->starts + place->start;
    const struct workload_start *expiry = place->expiry;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = ticks[i].tick;
        advance_once(fixture, now, fire, watch);
        for (; expiry < place->expiries_end && expiry->delay_ticks <= now; expiry++) {
            fire(fixture, expiry->id, now * fixture->scale);
        }
        stop_loop(fixture, stops, ticks[i].stops, touched, watch);
        stops += ticks[i].stops;
        enum tl_status status = start_loop(fixture, now, starts, ticks[i].starts, touched, watch);
        failure = status != TL_OK ? status : failure;
        starts += ticks[i].starts;
    }
    fixture->failure = failure != TL_OK ? failure : fixture->failure;
    place->expiry = expiry;
    place->tick += count;
    place->stop = (size_t)(stops - place->piece->stops);
    place->start = (size_t)(starts - place->piece->starts);
}

INLINE bool advance_loop(struct fixture *fixture, uint64_t count, uint64_t last, bool patient,
                         struct watch *watch)
{
    tl_fire_fn fire = callback_of(fixture);
    uint64_t step = stream_of(fixture)->key.step_ticks;
    uint64_t now = fixture->clock;
    uint64_t advances = 0;
    while (now < last && fixture->fired.count < count) {
        now += step;
        advance_once(fixture, now, fire, watch);
        if (patient && ++advances % ASK_ADVANCES == 0 && !still_patient(fixture)) {
            return false;
        }
    }
    return true;
}

/* --- specialised loops ----------------------------------------------------------------------- */

void play_starts(struct fixture *fixture, size_t from, size_t count, struct watch *watch)
{
    const struct stream *stream = stream_of(fixture);
    const struct workload_start *starts = stream->initial + from;
    uint64_t now = fixture->clock;
    enum touched touched = stream->key.fill != 0 ? touched_of(fixture) : TOUCH_NONE;
    enum tl_status status =
        watch != NULL            ? start_loop(fixture, now, starts, count, touched, watch)
        : touched == TOUCH_NONE  ? start_loop(fixture, now, starts, count, TOUCH_NONE, NULL)
        : touched == TOUCH_FIRST ? start_loop(fixture, now, starts, count, TOUCH_FIRST, NULL)
                                 : start_loop(fixture, now, starts, count, TOUCH_BOTH, NULL);
    fixture->failure = status != TL_OK ? status : fixture->failure;
}

void play_piece(struct fixture *fixture, struct stream_place *place, size_t count,
                struct watch *watch)
{
    enum touched touched = touched_of(fixture);
    if (watch != NULL) {
        play_loop(fixture, place, count, touched, watch);
    } else if (touched == TOUCH_NONE) {
        play_loop(fixture, place, count, TOUCH_NONE, NULL);
    } else if (touched == TOUCH_FIRST) {
        play_loop(fixture, place, count, TOUCH_FIRST, NULL);
    } else {
        play_loop(fixture, place, count, TOUCH_BOTH, NULL);
    }
}

bool play_until(struct fixture *fixture, uint64_t count, uint64_t last, bool patient,
                struct watch *watch)
{
    return watch != NULL ? advance_loop(fixture, count, last, true, watch)
           : patient     ? advance_loop(fixture, count, last, true, NULL)
                         : advance_loop(fixture, count, last, false, NULL);
}
