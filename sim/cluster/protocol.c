#include "protocol.h"

#include "guess.h"

#include <inttypes.h>

#define WORD_ROW(code, spelled, sentence) [code] = (spelled),
static const char *const steps[] = {CLUSTER_STEP_MAP(WORD_ROW)};
static const char *const causes[] = {CLUSTER_CAUSE_MAP(WORD_ROW)};
#undef WORD_ROW

const char *cluster_step_word(enum cluster_step step)
{
    return steps[step];
}

const char *cluster_cause_word(enum cluster_cause cause)
{
    return causes[cause];
}

static const struct cluster_protocol protocols[] = {
    {.name = "seed-fetch",
     .summary = "a clock moved by compare-and-set, then the second's bucket; deleted when fetched",
     .origin = "the reference design; fetched timers are deleted at once",
     .schedule = {CLUSTER_MOVE_CLOCK, CLUSTER_FETCH, CLUSTER_REMOVE, CLUSTER_PUSH, CLUSTER_END},
     .execute = {CLUSTER_TAKE, CLUSTER_CALL, CLUSTER_END},
     .scanned = true},
    {.name = "seed-ack",
     .summary = "the same, deleted when its service has answered",
     .origin = "the reference design; fetched timers are deleted after the call",
     .schedule = {CLUSTER_MOVE_CLOCK, CLUSTER_FETCH, CLUSTER_PUSH, CLUSTER_END},
     .execute = {CLUSTER_TAKE, CLUSTER_CALL, CLUSTER_DELETE, CLUSTER_END},
     .scanned = true},
    {.name = "lease",
     .summary = "due timers are claimed in one step, leased for a time, and ended by their token",
     .origin = "the reference design, repaired; BullMQ and dyno-queues are near it",
     .schedule = {CLUSTER_CLAIM, CLUSTER_END},
     .execute = {CLUSTER_LEASE, CLUSTER_CALL, CLUSTER_LATER, CLUSTER_ACK, CLUSTER_END}},
    {.name = "partitions",
     .summary = "lease, the due timers in partitions, which schedulers claim at the same time",
     .origin = "the reference design's partitioned lists, repaired",
     .schedule = {CLUSTER_CLAIM_PART, CLUSTER_END},
     .execute = {CLUSTER_LEASE, CLUSTER_CALL, CLUSTER_LATER, CLUSTER_ACK, CLUSTER_END}},
    {.name = "lists",
     .summary = "lease, the lists due at one instant handed to any node to work off",
     .origin = "the reference design's soft loading, repaired",
     .schedule = {CLUSTER_HAND_OUT, CLUSTER_LOAD, CLUSTER_END},
     .execute = {CLUSTER_LEASE, CLUSTER_CALL, CLUSTER_LATER, CLUSTER_ACK, CLUSTER_END}},
    {.name = "owners",
     .summary = "lease, each node with an id and its partitions, which it has again after a crash",
     .origin = "the reference design's master and restore; the engine's locks are the master",
     .schedule = {CLUSTER_JOIN, CLUSTER_CLAIM_OWN, CLUSTER_END},
     .execute = {CLUSTER_LEASE, CLUSTER_CALL, CLUSTER_LATER, CLUSTER_ACK, CLUSTER_END}},
    {.name = "ack-first",
     .summary = "lease, but ended before the call: whatever checks protocols has to find it out",
     .origin = "a control",
     .schedule = {CLUSTER_CLAIM, CLUSTER_END},
     .execute = {CLUSTER_LEASE, CLUSTER_ACK, CLUSTER_CALL, CLUSTER_END},
     .control = true},
};
#define PROTOCOLS (sizeof protocols / sizeof protocols[0])

const struct cluster_protocol *cluster_protocols(size_t *count)
{
    *count = PROTOCOLS;
    return protocols;
}

const struct cluster_protocol *cluster_protocol_find(const char *name, struct error *error)
{
    struct tl_guess guess = {.given = name};
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (tl_guess_is(&guess, protocols[i].name)) {
            return &protocols[i];
        }
    }
    (void)error_set(error, "there is no protocol '%s'%s `timerlab cluster sim --list` shows all",
                    name, tl_guess_text(&guess));
    return NULL;
}

bool cluster_protocol_does(const struct cluster_protocol *protocol, enum cluster_step step)
{
    for (size_t i = 0; i < CLUSTER_STEPS_MAX; i++) {
        if (step != CLUSTER_END &&
            (protocol->schedule[i] == step || protocol->execute[i] == step)) {
            return true;
        }
    }
    return false;
}

bool cluster_protocol_leases(const struct cluster_protocol *protocol)
{
    return cluster_protocol_does(protocol, CLUSTER_LEASE);
}

bool cluster_protocol_keeps_record(const struct cluster_protocol *protocol)
{
    return !cluster_protocol_does(protocol, CLUSTER_REMOVE);
}

bool cluster_books_balance(const struct cluster_books *books, struct error *error)
{
    uint64_t known = books->fired + books->stopped + books->dead + books->pending + books->lost;
    if (known == books->started) {
        return true;
    }
    return error_set(error,
                     "of %" PRIu64 " timers that were started, %" PRIu64 " fired, %" PRIu64
                     " were stopped, %" PRIu64 " given up, %" PRIu64 " are pending and %" PRIu64
                     " lost: %" PRIu64 " too %s",
                     books->started, books->fired, books->stopped, books->dead, books->pending,
                     books->lost,
                     known > books->started ? known - books->started : books->started - known,
                     known > books->started ? "many" : "few");
}
