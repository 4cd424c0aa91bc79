/*
 * The service that is called when a timer fires. It logs each call before it answers, so that its
 * work is known even if it or the caller is killed. Some calls it refuses, and of some it carries
 * out the reply is lost.
 */
#include "part.h"

#include "memory.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* From one executor. */
struct caller {
    size_t have; /* bytes received of the next two */
    uint64_t bytes;
    char *calls;
};

struct service {
    struct part *part;
    size_t count; /* of callers; polls[0] is who comes */
    struct pollfd polls[RUN_MEMBERS_MAX + 1];
    struct caller *callers[RUN_MEMBERS_MAX + 1];
};

static enum journal_answer outcome_of(const struct run_plan *plan,
                                      const struct journal_record *call)
{
    double chance =
        part_chance(plan->seed, 2, call->id, (uint64_t)call->generation << 32 | call->token);
    double unheard = plan->errors + plan->replies_lost;
    return chance < plan->errors             ? CALL_REFUSED
           : chance < unheard                ? CALL_UNHEARD
           : chance < unheard + plan->laters ? CALL_LATER
                                             : CALL_DONE;
}

static void hang_up(struct service *service, size_t at)
{
    (void)close(service->polls[at].fd);
    free(service->callers[at]->calls);
    free(service->callers[at]);
    service->polls[at] = service->polls[service->count];
    service->callers[at] = service->callers[service->count];
    service->count--;
}

/* All calls of a request: written down, then answered. */
static bool serve(struct service *service, size_t at)
{
    struct part *part = service->part;
    struct caller *caller = service->callers[at];
    struct journal_record records[ENGINE_BATCH_MAX];
    unsigned char given[PART_CALL_BYTES];
    size_t count = 0;
    for (const char *next = caller->calls; next < caller->calls + caller->bytes; count++) {
        struct journal_record *record = &records[count];
        struct part_call call;
        memcpy(&call, next, sizeof call);
        next += sizeof call;
        *record = call.record;
        size_t bytes = part_make_call(part->plan, record->id, record->generation, given);
        bool is_right = bytes == call.call_bytes && memcmp(next, given, bytes) == 0;
        next += call.call_bytes;
        record->now_ms = part_now_ms(part->shared, part->plan);
        record->answer = (uint8_t)(is_right ? outcome_of(part->plan, record) : CALL_GARBLED);
        if (record->answer == CALL_LATER) {
            record->at_ms = record->now_ms + part->plan->later_ms;
        }
    }
    part_point(part);
    if (!journal_add(part->journal, records, count, &part->error)) {
        return false;
    }
    atomic_store(&part->shared->last_call_ms, part_now_ms(part->shared, part->plan));
    part_point(part);
    caller->have = 0;
    size_t bytes = count * sizeof *records;
    if (send(service->polls[at].fd, records, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
        hang_up(service, at);
    }
    return true;
}

/* Read a part of a request; serve it when it is complete. */
static bool hear(struct service *service, size_t at)
{
    struct caller *caller = service->callers[at];
    size_t head = sizeof caller->bytes;
    size_t whole = head + (caller->have < head ? 0 : caller->bytes);
    char *to = caller->have < head ? (char *)&caller->bytes + caller->have
                                   : caller->calls + (caller->have - head);
    ssize_t got = recv(service->polls[at].fd, to, whole - caller->have, 0);
    if (got <= 0) {
        if (got == 0 || errno != EINTR) {
            hang_up(service, at);
        }
        return true;
    }
    caller->have += (size_t)got;
    if (caller->have == head) {
        free(caller->calls);
        caller->calls = memory_bytes(caller->bytes);
    }
    if (caller->have < head || caller->have < head + caller->bytes) {
        return true;
    }
    return serve(service, at);
}

static void welcome(struct service *service)
{
    int made = accept4(service->polls[0].fd, NULL, NULL, SOCK_CLOEXEC);
    if (made < 0 || service->count == RUN_MEMBERS_MAX) {
        if (made >= 0) {
            (void)close(made);
        }
        return;
    }
    service->count++;
    service->callers[service->count] = memory_new(1, sizeof *service->callers[0]);
    service->polls[service->count] = (struct pollfd){.fd = made, .events = POLLIN};
}

static int listen_at(struct part *part)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    part_receiver_path(part, address.sun_path);
    (void)unlink(address.sun_path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(made, RUN_MEMBERS_MAX) != 0) {
        (void)error_set(&part->error, "%s: the service cannot listen there: %s", address.sun_path,
                        strerror(errno));
        return -1;
    }
    return made;
}

bool part_receive(struct part *part)
{
    struct service service = {.part = part};
    service.polls[0] = (struct pollfd){.fd = listen_at(part), .events = POLLIN};
    bool right = service.polls[0].fd >= 0;
    while (right && !part_is_over(part)) {
        if (poll(service.polls, service.count + 1, 20) <= 0) {
            continue;
        }
        for (size_t at = service.count; right && at > 0; at--) {
            if (service.polls[at].revents != 0) {
                right = hear(&service, at);
            }
        }
        if (service.polls[0].revents != 0) {
            welcome(&service);
        }
    }
    while (service.count > 0) {
        hang_up(&service, service.count);
    }
    return right;
}
