#include "kit_trace.h"

#include "due.h"
#include "memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the text of an operation ---------------------------------------------------------------- */

/* One line for each kind, with a field after each %:
 *   i, o, r  a timer (or an index, or a capacity), another timer, a range of timers
 *   t, d     ticks to a deadline, ticks that time passes
 *   c, g     a number, a number of grants
 *   s        the plural of one line more than one
 *   b, u, w  optional: a budget, the bytes of a request, `always` */
static const char *const forms[] = {
    [KIT_OP_ON] = "on %i",
    [KIT_OP_DESTROY] = "destroy",
    [KIT_OP_START] = "start %r in %t",
    [KIT_OP_STOP] = "stop %r",
    [KIT_OP_ADVANCE] = "advance by %d%b",
    [KIT_OP_NEXT] = "advance to next%b",
    [KIT_OP_RESERVE] = "reserve %i",
    [KIT_OP_ALLOW] = "allow %g%u",
    [KIT_OP_INSPECT] = "inspect",
    [KIT_OP_MOVE] = "move records",
    [KIT_OP_REPEAT] = "repeat %i operation%s %c times",
    [KIT_OP_WHEN_START] = "when %i fires start %o in %t%w",
    [KIT_OP_WHEN_STOP] = "when %i fires stop %o%w",
};

#define FORMS (sizeof forms / sizeof forms[0])

static void write_range(const struct kit_op *op, FILE *stream)
{
    (void)fprintf(stream, "%" PRIu32, op->id);
    if (op->last != op->id) {
        (void)fprintf(stream, "-%" PRIu32, op->last);
    }
    if (op->last != op->id && op->every != 1) {
        (void)fprintf(stream, " every %" PRIu32, op->every);
    }
}

static void write_field(char field, const struct kit_op *op, FILE *stream)
{
    switch (field) {
    case 'i':
    case 'o':
        (void)fprintf(stream, "%" PRIu32, field == 'i' ? op->id : op->other);
        break;
    case 'r':
        write_range(op, stream);
        break;
    case 't':
    case 'd':
        if (field == 't' && op->ticks == INT64_MAX) {
            (void)fputs("max", stream);
        } else {
            (void)fprintf(stream, "%" PRId64, op->ticks);
        }
        break;
    case 'c':
    case 'g':
        if (field == 'g' && op->budget == UINT64_MAX) {
            (void)fputs("all", stream);
        } else {
            (void)fprintf(stream, "%" PRIu64, op->budget);
        }
        break;
    case 's':
        (void)fputs(op->id == 1 ? "" : "s", stream);
        break;
    case 'u':
        if (op->ticks > 0) {
            (void)fprintf(stream, " up to %" PRId64 " bytes", op->ticks);
        }
        break;
    case 'b':
        if (op->budget != TL_NO_BUDGET) {
            (void)fprintf(stream, " budget %" PRIu64, op->budget);
        }
        break;
    default:
        (void)fputs(op->always ? " always" : "", stream);
    }
}

static void write_op(const struct kit_op *op, FILE *stream)
{
    for (const char *at = forms[op->kind]; *at != '\0'; at++) {
        if (*at == '%') {
            write_field(*++at, op, stream);
        } else {
            (void)fputc(*at, stream);
        }
    }
    (void)fputc('\n', stream);
}

static const char *const place_words[] = {[KIT_GUARD_CANARIES] = "",
                                          [KIT_GUARD_PAGE_BEHIND] = " page behind",
                                          [KIT_GUARD_PAGE_BEFORE] = " page before"};

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
    (void)fputs(place_words[session->place], stream);
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
    /* In the text, structures are numbered in the order of their lines. */
    uint32_t numbers[KIT_INSTANCES_MAX] = {0};
    uint32_t made = 1;
    write_create(&trace->sessions[0], algo, stream);
    for (size_t i = 0; i < trace->count; i++) {
        struct kit_op op = trace->ops[i];
        if (op.kind == KIT_OP_CREATE) {
            numbers[op.id] = made++;
            write_create(&trace->sessions[op.id], algo, stream);
        } else {
            op.id = op.kind == KIT_OP_ON ? numbers[op.id] : op.id;
            write_op(&op, stream);
        }
    }
}

void kit_trace_release(struct kit_trace *trace)
{
    free(trace->ops);
    trace->ops = NULL;
    trace->count = 0;
}

/* --- reading --------------------------------------------------------------------------------- */

#define WHY_BYTES 700u

static bool skip(const char **at, const char *text)
{
    size_t length = strlen(text);
    bool is_there = strncmp(*at, text, length) == 0;
    *at += is_there ? length : 0;
    return is_there;
}

static bool read_number(const char **at, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *number <= most;
}

static bool read_small(const char **at, uint32_t *number)
{
    uint64_t wide = 0;
    bool read = read_number(at, KIT_CAPACITY_MAX, &wide);
    *number = (uint32_t)wide;
    return read;
}

static bool read_range(const char **at, struct kit_op *op)
{
    bool read = read_small(at, &op->id);
    op->last = op->id;
    if (read && skip(at, "-")) {
        read = read_small(at, &op->last) && (!skip(at, " every ") || read_small(at, &op->every));
    }
    return read && op->last >= op->id && op->every > 0;
}

static bool read_ticks(const char **at, bool is_deadline, int64_t *ticks)
{
    uint64_t number = INT64_MAX;
    bool is_past = is_deadline && skip(at, "-");
    bool read = (is_deadline && skip(at, "max")) || read_number(at, INT64_MAX, &number);
    *ticks = is_past ? -(int64_t)number : (int64_t)number;
    return read;
}

static bool read_field(char field, const char **at, struct kit_op *op)
{
    bool read = true;
    switch (field) {
    case 'i':
        read = read_small(at, &op->id);
        op->last = op->id;
        return read;
    case 'o':
        return read_small(at, &op->other);
    case 'r':
        return read_range(at, op);
    case 't':
    case 'd':
        return read_ticks(at, field == 't', &op->ticks);
    case 'c':
        return read_number(at, UINT64_MAX, &op->budget);
    case 'g': /* as kit_op_of has made it: all */
        return skip(at, "all") || read_number(at, UINT64_MAX, &op->budget);
    case 's':
        (void)skip(at, "s");
        return true;
    case 'u':
        return !skip(at, " up to ") || (read_ticks(at, false, &op->ticks) && skip(at, " bytes"));
    case 'b':
        return !skip(at, " budget ") || read_number(at, UINT64_MAX, &op->budget);
    default:
        op->always = skip(at, " always");
        return true;
    }
}

static bool read_op(const char *line, struct kit_op *op)
{
    bool read = false;
    for (size_t kind = KIT_OP_ON; kind < FORMS && !read; kind++) {
        const char *at = line;
        read = true;
        *op = kit_op_of((enum kit_op_kind)kind, 0);
        for (const char *form = forms[kind]; read && *form != '\0'; form++) {
            read = *form == '%' ? read_field(*++form, &at, op) : *at++ == *form;
        }
        read = read && *at == '\0';
    }
    return read;
}

/* Reads the layout of records, if there is one. */
static bool read_records(const char **at, struct kit_session *session, char why[WHY_BYTES])
{
    struct kit_records_layout *records = &session->records;
    int used = 0;
    if (skip(at, " embedded")) {
        records->lodging = KIT_LODGING_EITHER;
    } else if (sscanf(*at, " records %" SCNu32 " before %" SCNu32 " behind%n",
                      &records->before_bytes, &records->behind_bytes, &used) == 2) {
        records->lodging = KIT_LODGING_RECORDS;
        *at += used; /* 0 if the last word is missing: then the line has too much text */
    }
    uint32_t most = records->before_bytes > records->behind_bytes ? records->before_bytes
                                                                  : records->behind_bytes;
    if (records->lodging != KIT_LODGING_OWN && session->counted) {
        (void)snprintf(why, WHY_BYTES, "the build with counters takes no records");
        return false;
    }
    if ((records->before_bytes | records->behind_bytes) % TL_EMBEDDED_ALIGN != 0 ||
        most > KIT_RECORD_MAX) {
        (void)snprintf(
            why, WHY_BYTES,
            "the bytes before and after a timer in a record are multiples of %u, up to %" PRIu32,
            TL_EMBEDDED_ALIGN, KIT_RECORD_MAX);
        return false;
    }
    return true;
}

static bool read_create(const char *line, const struct tl_algo *algo, struct kit_session *session,
                        char why[WHY_BYTES])
{
    const char *at = line;
    (void)snprintf(why, WHY_BYTES, "expected 'create capacity N now N max-delay N'");
    session->grants = UINT64_MAX;
    if (!skip(&at, "create capacity ") || !read_small(&at, &session->capacity) ||
        !skip(&at, " now ") || !read_number(&at, TL_DEADLINE_MAX, &session->now) ||
        !skip(&at, " max-delay ") || !read_number(&at, UINT64_MAX, &session->max_delay_ticks) ||
        (skip(&at, " allow ") && !read_number(&at, UINT64_MAX, &session->grants))) {
        return false;
    }
    session->place = KIT_GUARD_PAGE_BEFORE;
    while (session->place > KIT_GUARD_CANARIES && !skip(&at, place_words[session->place])) {
        session->place--;
    }
    session->counted = skip(&at, " counted");
    return read_records(&at, session, why) && (skip(&at, " options ") || *at == '\0') &&
           tl_options_parse(algo, at, session->options, why, WHY_BYTES) == TL_OK;
}

/* Adds the operation of a line that is not empty. */
static bool take_line(struct kit_trace *trace, struct kit_place *place, const struct tl_algo *algo,
                      const char *line, char why[WHY_BYTES])
{
    struct kit_op op;
    if (trace->session_count == 0 || strncmp(line, "create", 6) == 0) {
        if (trace->session_count == KIT_INSTANCES_MAX) {
            (void)snprintf(why, WHY_BYTES, "at most %u structures exist at the same time",
                           KIT_INSTANCES_MAX);
            return false;
        }
        if (!read_create(line, algo, &trace->sessions[trace->session_count], why)) {
            return false;
        }
        trace->session_count++;
        if (trace->session_count == 1) {
            *place = kit_place_first(trace);
            return true;
        }
        op = kit_op_of(KIT_OP_CREATE, (uint32_t)trace->session_count - 1);
    } else if (!read_op(line, &op) || (op.kind == KIT_OP_ON && op.id >= trace->session_count)) {
        (void)snprintf(why, WHY_BYTES, "'%s' is not an operation, or has a value out of range",
                       line);
        return false;
    }
    kit_place_after(place, trace, &op);
    size_t timers = kit_op_timers(&op);
    uint32_t capacity = place->capacity[place->current];
    uint32_t most = timers > 1 && op.other > op.last ? op.other : op.last;
    if (timers > 0 && most >= capacity) {
        (void)snprintf(why, WHY_BYTES, "timer %" PRIu32 " is beyond the capacity of %" PRIu32, most,
                       capacity);
        return false;
    }
    if (trace->count == KIT_OPS_MAX) {
        (void)snprintf(why, WHY_BYTES, "more than %u operations", KIT_OPS_MAX);
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
        char why[WHY_BYTES];
        right = line[0] == '\0' || take_line(trace, &place, algo, line, why) ||
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

/* A range of fewer, and a repetition that saves fewer lines, is easier to read unfolded. */
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

/* How often the `period` operations at `ops` are repeated right after themselves. */
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
