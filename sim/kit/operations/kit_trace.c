#include "kit_trace.h"

#include "due.h"
#include "memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- text ------------------------------------------------------------------------------------ */

/* A line that is written or read: each function below does both, and returns whether the line goes
 * on as it should. */
struct text {
    FILE *out;               /* NULL: it is read */
    const char *at;          /* the rest of a line that is read */
    const uint64_t *numbers; /* named by letters; NULL: there are none */
};

/* These words. */
static bool words(struct text *text, const char *given)
{
    size_t length = strlen(given);
    bool is_there = text->out != NULL || strncmp(text->at, given, length) == 0;
    if (text->out != NULL) {
        (void)fputs(given, text->out);
    } else if (is_there) {
        text->at += length;
    }
    return is_there;
}

/* Optional words, which are written if `wanted`; returns whether they are there. */
static bool may_have(struct text *text, bool wanted, const char *given)
{
    return (text->out == NULL || wanted) && words(text, given);
}

static bool digits(struct text *text, uint64_t *value)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text->at)) {
        return false;
    }
    errno = 0;
    *value = strtoull(text->at, &end, 10);
    text->at = end;
    return errno == 0;
}

/* The number of a letter, changed by operators from left to right. */
static uint64_t compute(struct text *text)
{
    uint64_t value = text->numbers[*text->at++ - 'A'];
    while (*text->at != '\0' && strchr("+-*/", *text->at) != NULL &&
           isdigit((unsigned char)text->at[1])) {
        char sign = *text->at++;
        uint64_t other = 1;
        (void)digits(text, &other);
        value = sign == '+'     ? due_add(value, other)
                : sign == '*'   ? value * other
                : sign == '/'   ? value / other
                : value > other ? value - other
                                : 0;
    }
    return value;
}

static bool number(struct text *text, uint64_t *value, uint64_t most)
{
    if (text->out != NULL) {
        return fprintf(text->out, "%" PRIu64, *value) > 0;
    }
    if (text->numbers != NULL && isupper((unsigned char)*text->at)) {
        uint64_t computed = compute(text);
        *value = computed < most ? computed : most;
        return true;
    }
    return digits(text, value) && *value <= most;
}

bool kit_number_read(const char **at, const uint64_t *numbers, uint64_t *value)
{
    struct text text = {.at = *at, .numbers = numbers};
    bool good = number(&text, value, UINT64_MAX);
    *at = text.at;
    return good;
}

static bool small(struct text *text, uint32_t *value, uint32_t most)
{
    uint64_t wide = *value;
    bool good = number(text, &wide, most);
    *value = (uint32_t)wide;
    return good;
}

static bool range(struct text *text, struct kit_op *op)
{
    bool several = op->last != op->id;
    bool good = small(text, &op->id, KIT_CAPACITY_MAX);
    op->last = text->out == NULL ? op->id : op->last;
    if (good && may_have(text, several, "-")) {
        good = small(text, &op->last, KIT_CAPACITY_MAX) &&
               (!may_have(text, op->every != 1, " every ") ||
                small(text, &op->every, KIT_CAPACITY_MAX));
    }
    return good && op->last >= op->id && op->every > 0;
}

static bool ticks(struct text *text, bool is_deadline, int64_t *value)
{
    uint64_t size = *value < 0 ? (uint64_t)0 - (uint64_t)*value : (uint64_t)*value;
    if (is_deadline && may_have(text, *value == INT64_MAX, "max")) {
        *value = INT64_MAX;
        return true;
    }
    bool is_past = is_deadline && may_have(text, *value < 0, "-");
    bool good = number(text, &size, INT64_MAX);
    *value = is_past ? -(int64_t)size : (int64_t)size;
    return good;
}

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

static bool field(struct text *text, char letter, struct kit_op *op)
{
    bool good = true;
    switch (letter) {
    case 'i':
        good = small(text, &op->id, KIT_CAPACITY_MAX);
        op->last = text->out == NULL ? op->id : op->last;
        return good;
    case 'o':
        return small(text, &op->other, KIT_CAPACITY_MAX);
    case 'r':
        return range(text, op);
    case 't':
    case 'd':
        return ticks(text, letter == 't', &op->ticks);
    case 'g': /* of one that is read: all, as kit_op_of has made it */
        return may_have(text, op->budget == UINT64_MAX, "all") ||
               number(text, &op->budget, UINT64_MAX);
    case 'c':
        return number(text, &op->budget, UINT64_MAX);
    case 's':
        (void)may_have(text, op->id != 1, "s");
        return true;
    case 'u':
        return !may_have(text, op->ticks > 0, " up to ") ||
               (ticks(text, false, &op->ticks) && words(text, " bytes"));
    case 'b':
        return !may_have(text, op->budget != TL_NO_BUDGET, " budget ") ||
               number(text, &op->budget, UINT64_MAX);
    default:
        op->always = may_have(text, op->always, " always");
        return true;
    }
}

static bool text_line(struct text *text, const char *form, struct kit_op *op)
{
    bool good = true;
    for (const char *at = form; good && *at != '\0'; at++) {
        good = *at == '%' ? field(text, *++at, op) : words(text, (const char[]){*at, '\0'});
    }
    return good;
}

bool kit_op_read(const char **at, const uint64_t *numbers, struct kit_op *op)
{
    bool good = false;
    for (size_t kind = KIT_OP_ON; kind < FORMS && !good; kind++) {
        struct text text = {.at = *at, .numbers = numbers};
        *op = kit_op_of((enum kit_op_kind)kind, 0);
        good = text_line(&text, forms[kind], op);
        *at = good ? text.at : *at;
    }
    return good;
}

/* The arguments of create up to its options; the first three are required. */
static bool arguments(struct text *text, struct kit_session *session)
{
    static const char *const places[] = {"", " page behind", " page before"};
    struct kit_records_layout *records = &session->records;
    bool good = words(text, "create capacity ") &&
                small(text, &session->capacity, KIT_CAPACITY_MAX) && words(text, " now ") &&
                number(text, &session->now, TL_DEADLINE_MAX) && words(text, " max-delay ") &&
                number(text, &session->max_delay_ticks, UINT64_MAX) &&
                (!may_have(text, session->grants != UINT64_MAX, " allow ") ||
                 number(text, &session->grants, UINT64_MAX));
    enum kit_guard_place place = KIT_GUARD_PAGE_BEFORE;
    while (place > KIT_GUARD_CANARIES && !may_have(text, session->place == place, places[place])) {
        place--;
    }
    session->place = place;
    session->counted = may_have(text, session->counted, " counted");
    if (may_have(text, records->lodging == KIT_LODGING_EITHER, " embedded")) {
        records->lodging = KIT_LODGING_EITHER;
    } else if (records->lodging == KIT_LODGING_RECORDS ||
               (text->out == NULL && strncmp(text->at, " records", 8) == 0)) {
        struct kit_op sides = {.id = records->before_bytes, .other = records->behind_bytes};
        good = good && text_line(text, " records %i before %o behind", &sides);
        *records = (struct kit_records_layout){KIT_LODGING_RECORDS, sides.id, sides.other};
    }
    return good;
}

void kit_trace_write(const struct kit_trace *trace, const struct tl_algo *algo, FILE *stream)
{
    /* In the text, structures are numbered in the order of their lines. */
    uint32_t numbers[KIT_INSTANCES_MAX] = {0};
    uint32_t made = 0;
    struct text text = {.out = stream};
    for (size_t i = 0; i <= trace->count; i++) { /* before the first, a create */
        struct kit_op op = i > 0 ? trace->ops[i - 1] : kit_op_of(KIT_OP_CREATE, 0);
        if (op.kind == KIT_OP_CREATE) {
            struct kit_session session = trace->sessions[op.id];
            char options[512];
            (void)tl_options_format(algo, session.options, false, options, sizeof options);
            numbers[op.id] = made++;
            (void)arguments(&text, &session);
            (void)fprintf(stream, "%s%s", options[0] != '\0' ? " options " : "", options);
        } else {
            op.id = op.kind == KIT_OP_ON ? numbers[op.id] : op.id;
            (void)text_line(&text, forms[op.kind], &op);
        }
        (void)fputc('\n', stream);
    }
}

void kit_trace_release(struct kit_trace *trace)
{
    free(trace->ops);
    trace->ops = NULL;
    trace->count = 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool read_create(const char *line, const struct tl_algo *algo, struct kit_session *session,
                        struct error *why)
{
    const struct kit_records_layout *records = &session->records;
    struct text text = {.at = line};
    session->grants = UINT64_MAX;
    if (!arguments(&text, session) || (!words(&text, " options ") && *text.at != '\0')) {
        return error_set(why, "expected 'create capacity N now N max-delay N'");
    }
    if (records->lodging != KIT_LODGING_OWN && session->counted) {
        return error_set(why, "the build with counters takes no records");
    }
    if ((records->before_bytes | records->behind_bytes) % TL_EMBEDDED_ALIGN != 0 ||
        records->before_bytes > KIT_RECORD_MAX || records->behind_bytes > KIT_RECORD_MAX) {
        return error_set(why,
                         "the bytes before and after a timer in a record are multiples of %u, up "
                         "to %" PRIu32,
                         TL_EMBEDDED_ALIGN, KIT_RECORD_MAX);
    }
    return tl_options_parse(algo, text.at, session->options, why->text, sizeof why->text) == TL_OK;
}

/* Adds the operation of a line that is not empty. */
static bool take_line(struct kit_trace *trace, struct kit_place *place, const struct tl_algo *algo,
                      const char *line, struct error *why)
{
    struct kit_op op = kit_op_of(KIT_OP_CREATE, (uint32_t)trace->session_count);
    const char *end = line;
    if (trace->session_count == 0 || strncmp(line, "create", 6) == 0) {
        if (trace->session_count == KIT_INSTANCES_MAX) {
            return error_set(why, "at most %u structures exist at the same time",
                             KIT_INSTANCES_MAX);
        }
        if (!read_create(line, algo, &trace->sessions[op.id], why)) {
            return false;
        }
        if (trace->session_count++ == 0) {
            *place = kit_place_first(trace);
            return true;
        }
    } else if (!kit_op_read(&end, NULL, &op) || *end != '\0' ||
               (op.kind == KIT_OP_ON && op.id >= trace->session_count)) {
        return error_set(why, "'%s' is not an operation, or has a value out of range", line);
    }
    kit_place_after(place, trace, &op);
    size_t timers = kit_op_timers(&op);
    uint32_t capacity = place->capacity[place->current];
    uint32_t most = timers > 1 && op.other > op.last ? op.other : op.last;
    if (timers > 0 && most >= capacity) {
        return error_set(why, "timer %" PRIu32 " is beyond the capacity of %" PRIu32, most,
                         capacity);
    }
    if (trace->count == KIT_OPS_MAX) {
        return error_set(why, "more than %u operations", KIT_OPS_MAX);
    }
    trace->ops = memory_resize(trace->ops, trace->count + 1, sizeof *trace->ops);
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
        struct error why;
        right = line[0] == '\0' || take_line(trace, &place, algo, line, &why) ||
                error_set(error, "%s, line %u: %s", name, number, why.text);
    }
    if (right && ferror(stream) != 0) { /* a folder */
        right = error_set(error, "%s: cannot be read: %s", name, strerror(errno));
    } else if (right && trace->session_count == 0) {
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

struct kit_op kit_op_taken_out(const struct kit_op *op)
{
    struct kit_op plain =
        kit_op_of(op->kind == KIT_OP_WHEN_STOP ? KIT_OP_STOP : KIT_OP_START, op->other);
    plain.ticks = op->ticks;
    return plain;
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
    return deadline >= TL_DEADLINE_MAX ? INT64_MAX : (int64_t)(deadline - clock);
}

uint64_t kit_deadline_at(uint64_t clock, int64_t ticks)
{
    uint64_t ahead = ticks > 0 ? (uint64_t)ticks : 0;
    uint64_t back = ticks < 0 ? (uint64_t)0 - (uint64_t)ticks : 0;
    return ticks == INT64_MAX ? TL_DEADLINE_MAX
                              : due_deadline(clock - (back < clock ? back : clock), ahead);
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

/* --- the log --------------------------------------------------------------------------------- */

static void append(struct kit_log *log, struct kit_op op)
{
    if (log->count < KIT_OPS_MAX) {
        log->ops[log->count++] = op;
    } else {
        log->cut = true;
    }
}

uint32_t kit_log_create(struct kit_log *log, const struct kit_session *session)
{
    if (log->alive == 0) {
        memset(log, 0, offsetof(struct kit_log, ops));
    }
    log->alive++;
    if (log->session_count == KIT_INSTANCES_MAX) {
        log->cut = true;
        return KIT_NO_INSTANCE;
    }
    uint32_t instance = log->session_count++;
    log->sessions[instance] = *session;
    if (instance > 0) {
        append(log, kit_op_of(KIT_OP_CREATE, instance));
    }
    log->current = instance;
    return instance;
}

void kit_log_op(struct kit_log *log, uint32_t instance, struct kit_op op)
{
    if (instance == KIT_NO_INSTANCE) {
        return;
    }
    if (instance != log->current) {
        append(log, kit_op_of(KIT_OP_ON, instance));
        log->current = instance;
    }
    append(log, op);
    if (kit_op_timers(&op) > 1 && log->count > 1) {
        log->ops[log->count - 1] = log->ops[log->count - 2];
        log->ops[log->count - 2] = op;
    }
}

void kit_log_trace(const struct kit_log *log, struct kit_trace *trace)
{
    *trace = (struct kit_trace){.ops = NULL};
    /* A structure may have written to it. */
    if (log->session_count > KIT_INSTANCES_MAX || log->count > KIT_OPS_MAX) {
        return;
    }
    trace->session_count = log->session_count;
    memcpy(trace->sessions, log->sessions, sizeof trace->sessions);
    if (!log->cut && log->session_count > 0) {
        trace->ops = memory_new(log->count, sizeof *trace->ops);
        memcpy(trace->ops, log->ops, log->count * sizeof *trace->ops);
        trace->count = log->count;
    }
}
