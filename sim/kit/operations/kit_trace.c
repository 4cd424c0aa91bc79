#include "kit_trace.h"

#include "due.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_ticks(int64_t ticks, FILE *stream)
{
    if (ticks == INT64_MAX) {
        (void)fprintf(stream, " in max");
    } else {
        (void)fprintf(stream, " in %" PRId64, ticks);
    }
}

static void write_range(const char *word, const struct kit_op *op, FILE *stream)
{
    (void)fprintf(stream, "%s %" PRIu32, word, op->id);
    if (op->last != op->id) {
        (void)fprintf(stream, "-%" PRIu32, op->last);
        if (op->every != 1) {
            (void)fprintf(stream, " every %" PRIu32, op->every);
        }
    }
}

static void write_op(const struct kit_op *op, FILE *stream)
{
    switch (op->kind) {
    case KIT_OP_CREATE: /* by the caller, who knows what */
    case KIT_OP_ON:
        break;
    case KIT_OP_DESTROY:
        (void)fprintf(stream, "destroy");
        break;
    case KIT_OP_START:
        write_range("start", op, stream);
        write_ticks(op->ticks, stream);
        break;
    case KIT_OP_STOP:
        write_range("stop", op, stream);
        break;
    case KIT_OP_ADVANCE:
        (void)fprintf(stream, "advance by %" PRId64, op->ticks);
        break;
    case KIT_OP_NEXT:
        (void)fprintf(stream, "advance to next");
        break;
    case KIT_OP_RESERVE:
        (void)fprintf(stream, "reserve %" PRIu32, op->id);
        break;
    case KIT_OP_ALLOW:
        if (op->budget == UINT64_MAX) {
            (void)fprintf(stream, "allow all");
        } else {
            (void)fprintf(stream, "allow %" PRIu64, op->budget);
        }
        break;
    case KIT_OP_INSPECT:
        (void)fprintf(stream, "inspect");
        break;
    case KIT_OP_MOVE:
        (void)fprintf(stream, "move records");
        break;
    case KIT_OP_REPEAT:
        (void)fprintf(stream, "repeat %" PRIu32 " operation%s %" PRIu64 " times", op->id,
                      op->id == 1 ? "" : "s", op->budget);
        break;
    case KIT_OP_WHEN_START:
        (void)fprintf(stream, "when %" PRIu32 " fires start %" PRIu32, op->id, op->other);
        write_ticks(op->ticks, stream);
        break;
    case KIT_OP_WHEN_STOP:
        (void)fprintf(stream, "when %" PRIu32 " fires stop %" PRIu32, op->id, op->other);
        break;
    }
    if (op->always) {
        (void)fputs(" always", stream);
    }
    bool advances = op->kind == KIT_OP_ADVANCE || op->kind == KIT_OP_NEXT;
    if (advances && op->budget != TL_NO_BUDGET) {
        (void)fprintf(stream, " budget %" PRIu64, op->budget);
    }
    (void)fputc('\n', stream);
}

static void write_create(const struct kit_session *session, const struct tl_algo *algo,
                         FILE *stream)
{
    char options[512];
    (void)tl_options_format(algo, session->options, false, options, sizeof options);
    (void)fprintf(stream, "create capacity %" PRIu32 " now %" PRIu64 " max-delay %" PRIu64,
                  session->capacity, session->now, session->max_delay_ticks);
    if (session->grants != UINT64_MAX) {
        (void)fprintf(stream, " allow %" PRIu64, session->grants);
    }
    if (session->place != KIT_GUARD_CANARIES) {
        (void)fprintf(stream, " page %s",
                      session->place == KIT_GUARD_PAGE_BEHIND ? "behind" : "before");
    }
    (void)fputs(session->counted ? " counted" : "", stream);
    if (session->records.lodging == KIT_LODGING_EITHER) {
        (void)fputs(" embedded", stream);
    } else if (session->records.lodging == KIT_LODGING_RECORDS) {
        (void)fprintf(stream, " records %" PRIu32 " before %" PRIu32 " behind",
                      session->records.before_bytes, session->records.behind_bytes);
    }
    (void)fprintf(stream, "%s%s\n", options[0] != '\0' ? " options " : "", options);
}

void kit_trace_write(const struct kit_trace *trace, const struct tl_algo *algo, FILE *stream)
{
    /* In the text, structures have numbers in the order of their lines. */
    uint32_t numbers[KIT_INSTANCES_MAX] = {0};
    uint32_t made = 1;
    write_create(&trace->sessions[0], algo, stream);
    for (size_t i = 0; i < trace->count; i++) {
        const struct kit_op *op = &trace->ops[i];
        if (op->kind == KIT_OP_CREATE) {
            numbers[op->id] = made++;
            write_create(&trace->sessions[op->id], algo, stream);
        } else if (op->kind == KIT_OP_ON) {
            (void)fprintf(stream, "on %" PRIu32 "\n", numbers[op->id]);
        } else {
            write_op(op, stream);
        }
    }
}

void kit_trace_release(struct kit_trace *trace)
{
    free(trace->ops);
    trace->ops = NULL;
    trace->count = 0;
}

/* Reads the part of a line that says for when a timer is started; `used` is moved behind it. */
static bool read_ticks(const char *text, int64_t *ticks, int *used)
{
    int n = 0;
    if (strncmp(text, " in max", 7) == 0) {
        *ticks = INT64_MAX;
        *used += 7;
        return true;
    }
    if (sscanf(text, " in %" SCNd64 "%n", ticks, &n) == 1) {
        *used += n;
        return true;
    }
    return false;
}

/* Reads "ID" or "ID-ID [every N]"; `used` is moved behind it. */
static bool read_range(const char *text, struct kit_op *op, int *used)
{
    int n = 0;
    if (sscanf(text, "%" SCNu32 "%n", &op->id, &n) != 1) {
        return false;
    }
    *used += n;
    op->last = op->id;
    int more = 0;
    if (sscanf(text + n, "-%" SCNu32 "%n", &op->last, &more) == 1 && more > 0) {
        *used += more;
        n += more;
        more = 0;
        if (sscanf(text + n, " every %" SCNu32 "%n", &op->every, &more) == 1 && more > 0) {
            *used += more;
        }
    }
    return op->last >= op->id && op->every > 0 && op->last < KIT_CAPACITY_MAX;
}

static bool begins(const char *line, const char *word, int *used)
{
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0) {
        return false;
    }
    *used = (int)length;
    return true;
}

static bool read_op(const char *line, struct kit_op *op)
{
    int used = 0;
    char s = '\0';
    *op = kit_op_of(KIT_OP_DESTROY, 0);
    if (begins(line, "start ", &used)) {
        op->kind = KIT_OP_START;
        if (!read_range(line + used, op, &used) || !read_ticks(line + used, &op->ticks, &used)) {
            return false;
        }
    } else if (begins(line, "stop ", &used)) {
        op->kind = KIT_OP_STOP;
        if (!read_range(line + used, op, &used)) {
            return false;
        }
    } else if (sscanf(line, "reserve %" SCNu32 "%n", &op->id, &used) == 1) {
        op->kind = KIT_OP_RESERVE;
        if (op->id > KIT_CAPACITY_MAX) {
            return false;
        }
    } else if (sscanf(line, "advance by %" SCNd64 "%n", &op->ticks, &used) == 1) {
        op->kind = KIT_OP_ADVANCE;
        if (op->ticks < 0) {
            return false;
        }
    } else if (begins(line, "advance to next", &used)) {
        op->kind = KIT_OP_NEXT;
    } else if (begins(line, "allow all", &used)) {
        op->kind = KIT_OP_ALLOW;
        op->budget = UINT64_MAX;
    } else if (sscanf(line, "allow %" SCNu64 "%n", &op->budget, &used) == 1) {
        op->kind = KIT_OP_ALLOW;
    } else if (begins(line, "inspect", &used)) {
        op->kind = KIT_OP_INSPECT;
    } else if (begins(line, "move records", &used)) {
        op->kind = KIT_OP_MOVE;
    } else if (begins(line, "destroy", &used)) {
        op->kind = KIT_OP_DESTROY;
    } else if (sscanf(line, "on %" SCNu32 "%n", &op->id, &used) == 1) {
        op->kind = KIT_OP_ON;
    } else if (sscanf(line, "repeat %" SCNu32 " operation%c%n", &op->id, &s, &used) == 2 &&
               (s == 's' || s == ' ')) {
        op->kind = KIT_OP_REPEAT;
        used -= s == ' ';
        int more = 0;
        if (sscanf(line + used, " %" SCNu64 " times%n", &op->budget, &more) != 1 || more == 0) {
            return false;
        }
        used += more;
    } else if (sscanf(line, "when %" SCNu32 " fires start %" SCNu32 "%n", &op->id, &op->other,
                      &used) == 2) {
        op->kind = KIT_OP_WHEN_START;
        if (!read_ticks(line + used, &op->ticks, &used)) {
            return false;
        }
    } else if (sscanf(line, "when %" SCNu32 " fires stop %" SCNu32 "%n", &op->id, &op->other,
                      &used) == 2) {
        op->kind = KIT_OP_WHEN_STOP;
    } else {
        return false;
    }
    bool reacts = op->kind == KIT_OP_WHEN_START || op->kind == KIT_OP_WHEN_STOP;
    if (reacts && strcmp(line + used, " always") == 0) {
        op->always = true;
        return true;
    }
    int more = 0;
    bool advances = op->kind == KIT_OP_ADVANCE || op->kind == KIT_OP_NEXT;
    if (advances && sscanf(line + used, " budget %" SCNu64 "%n", &op->budget, &more) == 1) {
        used += more;
    }
    return line[used] == '\0';
}

/* Reads what create says of records, if it does; `rest` is moved behind it. */
static bool read_records(const char **rest, struct kit_session *session, char *why,
                         size_t why_bytes)
{
    struct kit_records_layout *records = &session->records;
    int used = 0;
    int more = 0;
    if (begins(*rest, " embedded", &used)) {
        records->lodging = KIT_LODGING_EITHER;
    } else if (sscanf(*rest, " records %" SCNu32 " before %" SCNu32 " behind%n",
                      &records->before_bytes, &records->behind_bytes, &more) == 2 &&
               more > 0) {
        records->lodging = KIT_LODGING_RECORDS;
        used = more;
    } else {
        return true;
    }
    *rest += used;
    if (session->counted) {
        (void)snprintf(why, why_bytes, "the build with counters takes no records");
        return false;
    }
    if (records->before_bytes % TL_EMBEDDED_ALIGN != 0 ||
        records->behind_bytes % TL_EMBEDDED_ALIGN != 0 || records->before_bytes > KIT_RECORD_MAX ||
        records->behind_bytes > KIT_RECORD_MAX) {
        (void)snprintf(
            why, why_bytes,
            "the bytes before and after a timer in a record are multiples of %u, up to %" PRIu32,
            TL_EMBEDDED_ALIGN, KIT_RECORD_MAX);
        return false;
    }
    return true;
}

static bool read_create(const char *line, const struct tl_algo *algo, struct kit_session *session,
                        char *why, size_t why_bytes)
{
    int used = 0;
    (void)snprintf(why, why_bytes, "expected 'create capacity N now N max-delay N'");
    if (sscanf(line, "create capacity %" SCNu32 " now %" SCNu64 " max-delay %" SCNu64 "%n",
               &session->capacity, &session->now, &session->max_delay_ticks, &used) != 3 ||
        session->capacity > KIT_CAPACITY_MAX || session->now > TL_DEADLINE_MAX) {
        return false;
    }
    const char *rest = line + used;
    session->grants = UINT64_MAX;
    int more = 0;
    if (sscanf(rest, " allow %" SCNu64 "%n", &session->grants, &more) == 1) {
        rest += more;
    }
    if (begins(rest, " page behind", &more)) {
        session->place = KIT_GUARD_PAGE_BEHIND;
        rest += more;
    } else if (begins(rest, " page before", &more)) {
        session->place = KIT_GUARD_PAGE_BEFORE;
        rest += more;
    }
    session->counted = begins(rest, " counted", &more);
    rest += session->counted ? more : 0;
    if (!read_records(&rest, session, why, why_bytes)) {
        return false;
    }
    if (*rest != '\0' && strncmp(rest, " options ", 9) != 0) {
        return false;
    }
    return tl_options_parse(algo, *rest != '\0' ? rest + 9 : "", session->options, why,
                            why_bytes) == TL_OK;
}

/* Takes a line that is not empty; false, and why, if it cannot be. */
static bool take_line(struct kit_trace *trace, struct kit_place *place, const struct tl_algo *algo,
                      const char *line, char *why, size_t why_bytes)
{
    struct kit_op op;
    if (trace->session_count == 0 || strncmp(line, "create", 6) == 0) {
        if (trace->session_count == KIT_INSTANCES_MAX) {
            (void)snprintf(why, why_bytes, "at most %u structures stand side by side",
                           KIT_INSTANCES_MAX);
            return false;
        }
        if (!read_create(line, algo, &trace->sessions[trace->session_count], why, why_bytes)) {
            return false;
        }
        trace->session_count++;
        if (trace->session_count == 1) {
            *place = kit_place_first(trace);
            return true;
        }
        op = kit_op_of(KIT_OP_CREATE, (uint32_t)trace->session_count - 1);
    } else if (!read_op(line, &op) || (op.kind == KIT_OP_ON && op.id >= trace->session_count)) {
        (void)snprintf(why, why_bytes, "'%s' is not an operation, or has a value out of range",
                       line);
        return false;
    }
    kit_place_after(place, trace, &op);
    size_t timers = kit_op_timers(&op);
    uint32_t capacity = place->capacity[place->current];
    uint32_t most = timers > 1 && op.other > op.last ? op.other : op.last;
    if (timers > 0 && most >= capacity) {
        (void)snprintf(why, why_bytes, "timer %" PRIu32 " is beyond the capacity of %" PRIu32, most,
                       capacity);
        return false;
    }
    if (trace->count == KIT_OPS_MAX) {
        (void)snprintf(why, why_bytes, "more than %u operations", KIT_OPS_MAX);
        return false;
    }
    /* Room doubles at each power of two. */
    if ((trace->count & (trace->count - 1)) == 0) {
        size_t room = trace->count > 0 ? 2 * trace->count : 1;
        trace->ops = memory_resize(trace->ops, room, sizeof *trace->ops);
    }
    trace->ops[trace->count++] = op;
    return true;
}

bool kit_trace_read(struct kit_trace *trace, const struct tl_algo *algo, FILE *stream,
                    const char *name, struct error *error)
{
    *trace = (struct kit_trace){.ops = NULL};
    struct kit_place place = {0};
    char line[512];
    unsigned number = 0;
    bool right = true;
    while (right && fgets(line, sizeof line, stream) != NULL) {
        number++;
        line[strcspn(line, "#\r\n")] = '\0';
        for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--) {
            line[n - 1] = '\0';
        }
        char why[700];
        right = line[0] == '\0' || take_line(trace, &place, algo, line, why, sizeof why) ||
                error_set(error, "%s, line %u: %s", name, number, why);
    }
    if (right && trace->session_count == 0) {
        right = error_set(error,
                          "%s: empty; a trace begins with 'create capacity N now N "
                          "max-delay N'",
                          name);
    }
    if (!right) {
        kit_trace_release(trace);
    }
    return right;
}

/* --- operations ------------------------------------------------------------------------------- */

struct kit_op kit_op_of(enum kit_op_kind kind, uint32_t id)
{
    return (struct kit_op){.kind = kind, .id = id, .last = id, .every = 1, .budget = TL_NO_BUDGET};
}

size_t kit_op_timers(const struct kit_op *op)
{
    bool reacts = op->kind == KIT_OP_WHEN_START || op->kind == KIT_OP_WHEN_STOP;
    return reacts ? 2 : op->kind == KIT_OP_START || op->kind == KIT_OP_STOP;
}

struct kit_place kit_place_first(const struct kit_trace *trace)
{
    return (struct kit_place){.capacity = {trace->sessions[0].capacity}};
}

void kit_place_after(struct kit_place *place, const struct kit_trace *trace,
                     const struct kit_op *op)
{
    bool creates = op->kind == KIT_OP_CREATE;
    place->current = creates || op->kind == KIT_OP_ON ? op->id : place->current;
    uint32_t *capacity = &place->capacity[place->current];
    if (creates) {
        *capacity = trace->sessions[op->id].capacity;
    } else if (op->kind == KIT_OP_RESERVE && op->id > *capacity) {
        *capacity = op->id;
    }
}

int64_t kit_ticks_to(uint64_t clock, uint64_t deadline)
{
    if (deadline >= TL_DEADLINE_MAX) {
        return INT64_MAX;
    }
    return deadline >= clock ? (int64_t)(deadline - clock) : -(int64_t)(clock - deadline);
}

uint64_t kit_deadline_at(uint64_t clock, int64_t ticks)
{
    if (ticks == INT64_MAX) {
        return TL_DEADLINE_MAX;
    }
    if (ticks < 0) {
        uint64_t back = (uint64_t)0 - (uint64_t)ticks;
        uint64_t past = back < clock ? clock - back : 0;
        return past < TL_DEADLINE_MAX ? past : TL_DEADLINE_MAX;
    }
    return due_deadline(clock, (uint64_t)ticks);
}

/* --- fewer of them ---------------------------------------------------------------------------- */

/* A range of fewer, and a repetition that saves fewer lines, is easier to read as it stands. */
#define FOLD_LEAST  8u
#define PERIOD_MOST 8u

static bool same_op(const struct kit_op *a, const struct kit_op *b)
{
    return a->kind == b->kind && a->id == b->id && a->last == b->last && a->every == b->every &&
           a->other == b->other && a->ticks == b->ticks && a->budget == b->budget &&
           a->always == b->always;
}

/* How many operations from `ops` on are one on timers at equal distances. */
static size_t range_of(const struct kit_op *ops, size_t count)
{
    bool fits =
        (ops[0].kind == KIT_OP_START || ops[0].kind == KIT_OP_STOP) && ops[0].last == ops[0].id;
    size_t n = 1;
    while (fits && n < count && ops[n].kind == ops[0].kind && ops[n].ticks == ops[0].ticks &&
           ops[n].last == ops[n].id && ops[n].id > ops[n - 1].id &&
           ops[n].id - ops[n - 1].id == ops[1].id - ops[0].id) {
        n++;
    }
    return n;
}

static void fold_ranges(struct kit_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->count;) {
        size_t n = range_of(trace->ops + i, trace->count - i);
        struct kit_op op = trace->ops[i];
        if (n >= FOLD_LEAST) {
            op.last = trace->ops[i + n - 1].id;
            op.every = trace->ops[i + 1].id - op.id;
        } else {
            n = 1;
        }
        trace->ops[kept++] = op;
        i += n;
    }
    trace->count = kept;
}

/* How often the `period` operations at `ops` come again right behind themselves. */
static size_t repetitions(const struct kit_op *ops, size_t count, size_t period)
{
    size_t same = 0;
    while (period + same < count && same_op(&ops[same], &ops[period + same])) {
        same++;
    }
    return same / period;
}

static void fold_repetitions(struct kit_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->count;) {
        size_t best = 0;
        size_t period = 1;
        for (size_t p = 1; p <= PERIOD_MOST && best == 0; p++) {
            size_t times = repetitions(trace->ops + i, trace->count - i, p);
            if (times * p >= FOLD_LEAST) {
                best = times;
                period = p;
            }
        }
        memmove(trace->ops + kept, trace->ops + i, period * sizeof *trace->ops);
        kept += period;
        i += period;
        if (best > 0) {
            trace->ops[kept] = kit_op_of(KIT_OP_REPEAT, (uint32_t)period);
            trace->ops[kept++].budget = best;
            i += best * period;
        }
    }
    trace->count = kept;
}

void kit_trace_fold(struct kit_trace *trace)
{
    fold_ranges(trace);
    fold_repetitions(trace);
}
