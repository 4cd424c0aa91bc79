/*
 * An executor: takes ready timers, calls the service, and says how it went. Killed after the call
 * and before the acknowledgement, it leaves a timer that will be called again: nobody can know
 * better. What it calls with, id and generation, is the same then, so that the service can.
 */
#include "part.h"

#include "clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKOFF_MAX_MS = 900000 };

static bool send_all(int socket, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(socket, at, count, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        count -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receive_all(int socket, char *to, size_t count)
{
    while (count > 0) {
        ssize_t got = recv(socket, to, count, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        to += got > 0 ? got : 0;
        count -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static int connect_receiver(const struct part *part)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    part_receiver_path(part, address.sun_path);
    while (!part_is_over(part)) {
        int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && connect(made, (struct sockaddr *)&address, sizeof address) == 0) {
            return made;
        }
        if (made >= 0) {
            (void)close(made);
        }
        struct timespec moment = {0, 2000000};
        (void)nanosleep(&moment, NULL);
    }
    return -1;
}

/* Calls the service. Who does not answer is not known to have been reached: `outcomes` are then as
 * of replies that are lost. */
static void call_service(struct part *part, int *service, const struct engine_timer *timers,
                         size_t count, char *outcomes)
{
    struct part_call calls[ENGINE_BATCH_MAX];
    uint64_t number = count;
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct part_call){.id = timers[i].id,
                                      .at_ms = timers[i].at_ms,
                                      .token = timers[i].token,
                                      .generation = timers[i].generation,
                                      .attempt = timers[i].attempt,
                                      .incarnation = part->incarnation,
                                      .member = part->member};
    }
    if (*service < 0) {
        *service = connect_receiver(part);
    }
    if (*service < 0 || !send_all(*service, &number, sizeof number) ||
        !send_all(*service, calls, count * sizeof *calls) ||
        !receive_all(*service, outcomes, count)) {
        memset(outcomes, CALL_UNHEARD, count);
        if (*service >= 0) {
            (void)close(*service);
        }
        *service = -1;
    }
}

/* When to try again. */
static uint64_t again_at(const struct part *part, const struct engine_timer *timer)
{
    uint64_t wait_ms = part->plan->backoff_ms;
    if (part->plan->steps.protocol != ENGINE_LEASE) {
        return timer->at_ms; /* its name has the deadline in it */
    }
    for (uint32_t i = 1; i < timer->attempt && wait_ms < BACKOFF_MAX_MS; i++) {
        wait_ms *= 2;
    }
    return part_now_ms(part->shared, part->plan) +
           (wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS);
}

/* Says to the engine how those calls went of which `well` is true, or of the others. */
static bool answer(struct part *part, uint32_t which, bool well, const struct engine_timer *timers,
                   size_t count, const char *outcomes)
{
    const struct engine_kind *kind = part->plan->engine;
    struct engine_timer own[ENGINE_BATCH_MAX];
    struct journal_record records[ENGINE_BATCH_MAX];
    char answers[ENGINE_BATCH_MAX] = {0};
    size_t some = 0;
    for (size_t i = 0; i < count; i++) {
        if (well == (outcomes == NULL || outcomes[i] == CALL_DONE)) {
            own[some] = timers[i];
            own[some].at_ms = well ? timers[i].at_ms : again_at(part, &timers[i]);
            some++;
        }
    }
    enum part_go go = some == 0 ? PART_DONE : PART_AGAIN;
    while (go == PART_AGAIN) {
        struct engine *engine = part_engine(part, which);
        if (engine == NULL) {
            return false;
        }
        uint64_t begun_ns = clock_now_ns();
        go = part_judge(part, which,
                        (well ? kind->ack : kind->nack)(engine, own, some, answers, &part->error));
        if (go == PART_DONE) {
            part_store_took(part, well ? TIME_ACK : TIME_NACK, begun_ns);
        }
        part_point(part);
    }
    if (go != PART_DONE || some == 0) {
        return go == PART_DONE;
    }
    for (size_t i = 0; i < some; i++) {
        records[i] = part_record(part, well ? JOURNAL_ACKED : JOURNAL_NACKED, &own[i]);
        records[i].answer = (uint8_t)answers[i];
    }
    return journal_add(part->journal, records, some, &part->error);
}

/* Takes what is ready at an engine, and sees it through. */
static bool turn(struct part *part, uint32_t which, int *service, bool *idle)
{
    struct engine_timer timers[ENGINE_BATCH_MAX];
    struct journal_record records[ENGINE_BATCH_MAX];
    char outcomes[ENGINE_BATCH_MAX];
    size_t count = part->plan->batch;
    struct engine *engine = part_engine(part, which);
    if (engine == NULL) {
        return false;
    }
    uint64_t begun_ns = clock_now_ns();
    enum part_go go =
        part_judge(part, which,
                   part->plan->engine->take(engine, part_now_ms(part->shared, part->plan), timers,
                                            &count, &part->error));
    if (go != PART_DONE) {
        *idle = false;
        return go == PART_AGAIN;
    }
    if (count == 0) {
        part_point(part);
        return true;
    }
    part_store_took(part, TIME_TAKE, begun_ns);
    *idle = false;
    part_point(part);
    begun_ns = clock_now_ns();
    for (size_t i = 0; i < count; i++) {
        records[i] = part_record(part, JOURNAL_TAKEN, &timers[i]);
    }
    if (!journal_add(part->journal, records, count, &part->error)) {
        return false;
    }
    if (part->plan->acks_first && !answer(part, which, true, timers, count, NULL)) {
        return false;
    }
    part_point(part);
    call_service(part, service, timers, count, outcomes);
    part_took(part, TIME_CALL, begun_ns);
    part_point(part);
    return part->plan->acks_first || (answer(part, which, true, timers, count, outcomes) &&
                                      answer(part, which, false, timers, count, outcomes));
}

bool part_execute(struct part *part)
{
    int service = -1;
    bool right = true;
    while (right && !part_is_over(part)) {
        bool idle = true;
        uint64_t begun_ns = clock_now_ns();
        for (uint32_t which = 0; right && which < part->plan->engines; which++) {
            right = turn(part, which, &service, &idle);
        }
        if (right && idle) {
            part_rest(part);
            part_took(part, TIME_LOOK, begun_ns);
        }
    }
    if (service >= 0) {
        (void)close(service);
    }
    return right || (part_is_over(part) && part->error.text[0] == '\0');
}
