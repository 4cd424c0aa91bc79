#include "drive.h"

#include "due.h"
#include "memory.h"
#include "number.h"
#include "random.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- text ------------------------------------------------------------------------------------ */

#define NONE "none"

static const char *const kind_words[] = {
    [DRIVE_SLEEP] = "sleep", [DRIVE_SLACK] = "slack", [DRIVE_POLL] = "poll"};

static bool read_whole(const char *text, uint64_t least, uint64_t *value)
{
    const struct tl_number_form form = {.from = least, .to = INT64_MAX};
    union tl_number number = {0};
    bool good = tl_number_read(&form, text, &number);
    *value = number.whole;
    return good;
}

bool drive_read(struct replay_drive *drive, const char *name, const char *text, struct error *error)
{
    drive->poll_ticks = 0;
    for (unsigned kind = DRIVE_SLEEP; kind <= DRIVE_POLL; kind++) {
        drive->kind = (enum drive_kind)kind;
        if (strcmp(text, kind_words[kind]) == 0) {
            return true;
        }
    }
    return (strncmp(text, "poll:", 5) == 0 && read_whole(text + 5, 1, &drive->poll_ticks)) ||
           error_set(error,
                     "%s takes sleep, slack, poll, or poll:N for every N ticks, as in poll:10, "
                     "not '%s'",
                     name, text);
}

bool drive_read_budget(struct replay_drive *drive, const char *name, const char *text,
                       struct error *error)
{
    drive->budget = 0;
    return strcmp(text, NONE) == 0 || read_whole(text, 1, &drive->budget) ||
           error_set(error,
                     "%s takes how many timers an advance may fire, a whole number from 1, or " NONE
                     ", not '%s'",
                     name, text);
}

/* Read one of the words after AT:FOR. */
static bool read_manner(struct drive_pause *pause, const char *word)
{
    if (strncmp(word, "every=", 6) == 0) {
        return read_whole(word + 6, 1, &pause->every_ticks);
    }
    pause->asleep = strcmp(word, "asleep") == 0;
    return pause->asleep || strcmp(word, "busy") == 0;
}

static bool read_pause(struct drive_pause *pause, char *text)
{
    *pause = (struct drive_pause){0};
    const char *at = strsep(&text, ":");
    const char *ticks = strsep(&text, ":");
    bool good =
        ticks != NULL && read_whole(at, 0, &pause->at) && read_whole(ticks, 1, &pause->ticks);
    while (good && text != NULL) {
        good = read_manner(pause, strsep(&text, ":"));
    }
    return good && (pause->every_ticks == 0 || pause->every_ticks > pause->ticks);
}

bool drive_read_pauses(struct replay_drive *drive, const char *name, const char *text,
                       struct error *error)
{
    char copy[DRIVE_TEXT_BYTES];
    char *rest = copy;
    drive->pause_count = 0;
    if (strcmp(text, NONE) == 0) {
        return true;
    }
    size_t length = (size_t)snprintf(copy, sizeof copy, "%s", text);
    while (rest != NULL) {
        if (drive->pause_count == DRIVE_PAUSES_MAX || length >= sizeof copy) {
            return error_set(error,
                             "%s takes at most %d pauses, of which each can come again, not '%s'",
                             name, DRIVE_PAUSES_MAX, text);
        }
        if (!read_pause(&drive->pauses[drive->pause_count++], strsep(&rest, "+"))) {
            return error_set(
                error,
                "%s takes AT:FOR[:busy|asleep][:every=TICKS] in ticks, as in 5000:200 or "
                "0:50:asleep:every=1000, FOR from 1 and less than every, or " NONE ", not '%s'",
                name, text);
        }
    }
    return true;
}

bool drive_read_service(struct replay_drive *drive, const char *name, const char *text,
                        struct error *error)
{
    /* The sum of all callbacks of an advance fits 64 bits. */
    static const struct tl_number_form form = {.kind = TL_NUMBER_TIME, .least = 1, .most = 100e9};
    union tl_number number = {0};
    drive->service_ns = 0;
    drive->service_varies = strncmp(text, "exp:", 4) == 0;
    if (strcmp(text, NONE) == 0) {
        return true;
    }
    if (!tl_number_read(&form, drive->service_varies ? text + 4 : text, &number)) {
        return error_set(error,
                         "%s takes the time of a callback, from 1ns to 100s, as in 50us, or its "
                         "mean, as in exp:50us, or " NONE ", not '%s'",
                         name, text);
    }
    drive->service_ns = (uint64_t)(number.real + 0.5);
    return true;
}

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text + used, DRIVE_TEXT_BYTES - used, format, list);
    va_end(list);
}

void drive_write(const struct replay_drive *drive, char text[DRIVE_TEXT_BYTES])
{
    text[0] = '\0';
    append(text, "%s", kind_words[drive->kind]);
    if (drive->poll_ticks > 1) {
        append(text, ":%" PRIu64, drive->poll_ticks);
    }
    if (drive->budget > 0) {
        append(text, " budget %" PRIu64, drive->budget);
    }
    for (size_t i = 0; i < drive->pause_count; i++) {
        const struct drive_pause *pause = &drive->pauses[i];
        append(text, "%s%" PRIu64 ":%" PRIu64 ":%s", i == 0 ? " pause " : "+", pause->at,
               pause->ticks, pause->asleep ? "asleep" : "busy");
        if (pause->every_ticks > 0) {
            append(text, ":every=%" PRIu64, pause->every_ticks);
        }
    }
    if (drive->service_ns > 0) {
        append(text, " service %s%" PRIu64 "ns", drive->service_varies ? "exp:" : "",
               drive->service_ns);
    }
}

/* --- when ------------------------------------------------------------------------------------ */

bool drive_is_plain(const struct replay_drive *drive)
{
    return drive->kind != DRIVE_SLACK && drive->poll_ticks <= 1 && drive->budget == 0 &&
           drive->pause_count == 0 && drive->service_ns == 0;
}

/* Return whether `tick` is in the pause; *left: the ticks until its end. */
static bool is_in(const struct drive_pause *pause, uint64_t tick, uint64_t *left)
{
    if (tick < pause->at) {
        return false;
    }
    uint64_t into = tick - pause->at;
    into = pause->every_ticks > 0 ? into % pause->every_ticks : into;
    *left = pause->ticks - into;
    return into < pause->ticks;
}

uint64_t drive_awake(const struct replay_drive *drive, uint64_t tick)
{
    /* Another pause may follow, also one of those already checked. */
    for (size_t i = 0; i < drive->pause_count && tick < drive->end_tick;) {
        uint64_t left;
        if (is_in(&drive->pauses[i], tick, &left)) {
            tick = left < drive->end_tick - tick ? tick + left : drive->end_tick;
            i = 0;
        } else {
            i++;
        }
    }
    return tick;
}

uint64_t drive_chance(const struct replay_drive *drive, uint64_t tick)
{
    if (drive->kind != DRIVE_POLL || drive->poll_ticks <= 1) {
        return drive_awake(drive, tick);
    }
    /* The last poll may have been postponed to this tick or later. */
    uint64_t past = tick % drive->poll_ticks;
    uint64_t last = drive_awake(drive, tick - past);
    if (last >= tick || past == 0) {
        return last;
    }
    uint64_t to_next = drive->poll_ticks - past;
    return to_next > UINT64_MAX - tick ? UINT64_MAX : drive_awake(drive, tick + to_next);
}

bool drive_loses(const struct replay_drive *drive, uint64_t tick)
{
    bool loses = false;
    for (size_t i = 0; i < drive->pause_count && tick < drive->end_tick && !loses; i++) {
        uint64_t left;
        loses = drive->pauses[i].asleep && is_in(&drive->pauses[i], tick, &left);
    }
    return loses;
}

/* --- callbacks that take time ---------------------------------------------------------------- */

enum { DRAWS = 4096 };

struct service {
    uint64_t tick_ns;
    uint64_t end_tick;
    uint64_t round;      /* tick of the last one */
    uint64_t ended_tick; /* when its last callback ends */
    uint64_t ended_ns;   /* offset in that tick */
    uint64_t served;     /* callbacks so far */
    uint64_t period;     /* of the series of service times */
    uint64_t sums_ns[];  /* sums of the first 0 .. period of them */
};

/* Write the sums of the midpoint quantiles of DRAWS equal parts, shuffled: their mean is the
 * distribution's, and the series is reproducible. */
static void draw_exponential(uint64_t *sums_ns, uint64_t mean_ns)
{
    struct random random;
    double quantiles[DRAWS] = {0};
    double sum = 0;
    random_seed(&random, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        size_t other = random_bits(&random) % (i + 1);
        quantiles[i] = quantiles[other];
        quantiles[other] = -random_log(1 - ((double)i + 0.5) / DRAWS);
        sum += -random_log(1 - ((double)i + 0.5) / DRAWS);
    }
    double so_far = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        so_far += quantiles[i];
        sums_ns[i + 1] = (uint64_t)(so_far / sum * DRAWS * (double)mean_ns + 0.5);
    }
}

struct service *service_open(const struct replay_drive *drive, uint64_t tick_ns)
{
    if (drive->service_ns == 0) {
        return NULL;
    }
    uint64_t period = drive->service_varies ? DRAWS : 1;
    struct service *service =
        memory_bytes(sizeof *service + (size_t)(period + 1) * sizeof service->sums_ns[0]);
    *service = (struct service){.tick_ns = tick_ns, .end_tick = drive->end_tick, .period = period};
    service->sums_ns[0] = 0;
    service->sums_ns[1] = drive->service_ns;
    if (drive->service_varies) {
        draw_exponential(service->sums_ns, drive->service_ns);
    }
    return service;
}

void service_close(struct service *service)
{
    free(service);
}

/* The sums may wrap; their difference does not. */
static uint64_t busy_ns(const struct service *service, uint64_t count)
{
    const uint64_t *sums = service->sums_ns;
    uint64_t period = service->period;
    uint64_t to = service->served + count;
    return (to / period - service->served / period) * sums[period] + sums[to % period] -
           sums[service->served % period];
}

/* Return the tick at which `count` callbacks of a round at `tick` have ended; *ns: the offset in
 * it. */
static uint64_t stands(const struct service *service, uint64_t tick, uint64_t count, uint64_t *ns)
{
    bool waited = service->ended_tick < tick;
    uint64_t busy = busy_ns(service, count);
    uint64_t rest = (waited ? 0 : service->ended_ns) + busy % service->tick_ns;
    *ns = rest % service->tick_ns;
    return due_add(waited ? tick : service->ended_tick,
                   busy / service->tick_ns + rest / service->tick_ns);
}

uint64_t service_begins(const struct service *service, uint64_t tick, uint64_t fired)
{
    uint64_t ns;
    return stands(service, tick, fired, &ns);
}

uint64_t service_advanced(struct service *service, uint64_t tick, uint64_t fired)
{
    uint64_t busy = busy_ns(service, fired);
    service->ended_tick = stands(service, tick, fired, &service->ended_ns);
    service->served += fired;
    service->round = tick;
    return busy;
}

uint64_t service_free(const struct service *service)
{
    uint64_t soonest = service->round + 1;
    uint64_t ended = service->ended_tick;
    if (ended > service->end_tick) {
        ended = service->end_tick;
    }
    return ended > soonest ? ended : soonest;
}

uint64_t service_chance(const struct service *service, const struct replay_drive *drive,
                        uint64_t tick)
{
    if (service == NULL) {
        return drive_chance(drive, tick);
    }
    if (tick <= service->round) {
        return service->round;
    }
    uint64_t first = service_free(service);
    if (tick > first) {
        return drive_chance(drive, tick);
    }
    /* A poll missed while the loop was busy is made when it is free. */
    uint64_t missed = drive_chance(drive, service->round + 1);
    return missed <= first ? drive_awake(drive, first) : drive_chance(drive, first);
}

uint64_t service_applies(const struct service *service, uint64_t tick)
{
    if (service->round >= tick) {
        return service->round;
    }
    uint64_t first = service_free(service);
    return first > tick ? first : tick;
}
