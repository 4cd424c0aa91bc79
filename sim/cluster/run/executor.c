/*
 * An executor: takes ready timers, calls the service, and reports the result, by the steps of its
 * protocol's row. Killed between the call and the acknowledgement, it leaves a timer that will be
 * called again, since no process can know better; id and generation are the same then, so that the
 * service can.
 */
#include "part.h"

#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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

static bool receive_all(int socket, void *bytes, size_t count)
{
    char *to = bytes;
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
        part_wait_ms(2);
    }
    return -1;
}

/* Calls the service. If it does not answer, it is not known to have been reached: the answers are
 * then as of replies that are lost. */
static void call_service(struct part *part, int *service, const struct engine_timer *timers,
                         size_t count, struct journal_record *answers)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += sizeof(struct part_call) + timers[i].call_bytes;
    }
    char *calls = memory_bytes(bytes);
    char *at = calls;
    for (size_t i = 0; i < count; i++) {
        const struct part_call call = {part_record(part, JOURNAL_CALLED, &timers[i]),
                                       timers[i].call_bytes};
        memcpy(at, &call, sizeof call);
        memcpy(at + sizeof call, timers[i].call, timers[i].call_bytes);
        at += sizeof call + timers[i].call_bytes;
    }
    if (*service < 0) {
        *service = connect_receiver(part);
    }
    if (*service < 0 || !send_all(*service, &bytes, sizeof bytes) ||
        !send_all(*service, calls, bytes) ||
        !receive_all(*service, answers, count * sizeof *answers)) {
        for (size_t i = 0; i < count; i++) {
            answers[i] = (struct journal_record){.answer = CALL_UNHEARD};
        }
        if (*service >= 0) {
            (void)close(*service);
        }
        *service = -1;
    }
    free(calls);
}

/* When to try again. */
static uint64_t again_at(const struct part *part, const struct engine_timer *timer)
{
    uint64_t wait_ms = part->plan->backoff_ms;
    if (part->plan->steps.is_seed) {
        return timer->at_ms; /* its name has the deadline in it */
    }
    for (uint32_t i = 1; i < timer->attempt && wait_ms < BACKOFF_MAX_MS; i++) {
        wait_ms *= 2;
    }
    return part_now_ms(part->shared, part->plan) +
           (wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS);
}

/* Return the engine's word for the result of a call. */
static enum engine_word word_of(const struct journal_record *answer)
{
    return answer->answer == CALL_DONE    ? SAY_ACK
           : answer->answer == CALL_LATER ? SAY_LATER
                                          : SAY_NACK;
}

/* Say this word to the engine of the calls that it is for; `heard` NULL: of all. Without an `ends`
 * the row has no such step, and there is only the journal. */
static bool report_calls(struct part *part, enum engine_word word, bool ends,
                         const struct engine_timer *timers, size_t count,
                         const struct journal_record *heard)
{
    struct engine_timer own[ENGINE_BATCH_MAX];
    struct journal_record records[ENGINE_BATCH_MAX];
    char answers[ENGINE_BATCH_MAX];
    size_t some = 0;
    memset(answers, ANSWER_YES, sizeof answers);
    for (size_t i = 0; i < count; i++) {
        if (heard == NULL || word_of(&heard[i]) == word) {
            own[some] = timers[i];
            own[some].at_ms = word == SAY_ACK     ? timers[i].at_ms
                              : word == SAY_LATER ? heard[i].at_ms
                                                  : again_at(part, &timers[i]);
            some++;
        }
    }
    enum part_go go = some == 0 || !ends ? PART_DONE : PART_AGAIN;
    while (go == PART_AGAIN) {
        struct engine *engine = part_engine(part);
        if (engine == NULL) {
            return false;
        }
        go = part_judge(part,
                        part->plan->engine->say(engine, word, own, some, answers, &part->error));
        part_point(part);
    }
    for (size_t i = 0; i < some && go == PART_DONE; i++) {
        records[i] = part_record(part, word == SAY_ACK ? JOURNAL_ACKED : JOURNAL_NACKED, &own[i]);
        records[i].answer = (uint8_t)answers[i];
    }
    return go == PART_DONE && journal_add(part->journal, records, some, &part->error);
}

/* The steps after the first. */
static bool do_steps(struct part *part, int *service, const struct engine_timer *timers,
                     size_t count)
{
    struct journal_record heard[ENGINE_BATCH_MAX];
    bool called = false;
    bool ended = false;
    bool right = true;
    for (const enum cluster_step *step = part->plan->protocol->execute + 1;
         *step != CLUSTER_END && right; step++) {
        part_point(part);
        if (*step == CLUSTER_CALL) {
            call_service(part, service, timers, count, heard);
            called = true;
        } else {
            enum engine_word word = *step == CLUSTER_LATER ? SAY_LATER : SAY_ACK;
            right = report_calls(part, word, true, timers, count, called ? heard : NULL);
            ended = ended || word == SAY_ACK;
        }
        part_point(part);
    }
    if (ended && part->plan->protocol->execute[1] != CLUSTER_CALL) {
        return right; /* it was ended before the call: whatever that came to is forgotten */
    }
    return right && (ended || report_calls(part, SAY_ACK, false, timers, count, heard)) &&
           report_calls(part, SAY_NACK, true, timers, count, heard);
}

/* Take ready timers, and do all steps. */
static bool execute_turn(struct part *part, int *service, bool *idle)
{
    struct engine_timer timers[ENGINE_BATCH_MAX];
    struct journal_record records[ENGINE_BATCH_MAX];
    size_t count = part->plan->batch;
    struct engine *engine = part_engine(part);
    if (engine == NULL) {
        return false;
    }
    enum part_go go =
        part_judge(part, part->plan->engine->take(engine, part_now_ms(part->shared, part->plan),
                                                  timers, &count, &part->error));
    if (go != PART_DONE) {
        *idle = false;
        return go == PART_AGAIN;
    }
    if (count == 0) {
        part_point(part);
        return true;
    }
    *idle = false;
    part_point(part);
    for (size_t i = 0; i < count; i++) {
        records[i] = part_record(part, JOURNAL_TAKEN, &timers[i]);
    }
    return journal_add(part->journal, records, count, &part->error) &&
           do_steps(part, service, timers, count);
}

bool part_execute(struct part *part)
{
    int service = -1;
    bool right = true;
    while (right && !part_is_over(part)) {
        bool idle = true;
        right = execute_turn(part, &service, &idle);
        if (right && idle) {
            part_rest(part);
        }
    }
    if (service >= 0) {
        (void)close(service);
    }
    return right || (part_is_over(part) && part->error.text[0] == '\0');
}
