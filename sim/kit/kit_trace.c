#include "kit_trace.h"

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

static void write_op(const struct kit_op *op, FILE *stream)
{
    switch (op->kind) {
    case KIT_OP_START:
        (void)fprintf(stream, "start %" PRIu32, op->id);
        write_ticks(op->ticks, stream);
        break;
    case KIT_OP_STOP:
        (void)fprintf(stream, "stop %" PRIu32, op->id);
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

void kit_trace_write(const struct kit_trace *trace, const struct tl_algo *algo, FILE *stream)
{
    char options[512];
    (void)tl_options_format(algo, trace->session.options, false, options, sizeof options);
    (void)fprintf(stream, "create capacity %" PRIu32 " now %" PRIu64 " max-delay %" PRIu64 "%s%s\n",
                  trace->session.capacity, trace->session.now, trace->session.max_delay_ticks,
                  options[0] != '\0' ? " options " : "", options);
    for (size_t i = 0; i < trace->count; i++) {
        write_op(&trace->ops[i], stream);
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

static bool read_op(const char *line, struct kit_op *op)
{
    int used = 0;
    *op = (struct kit_op){.budget = TL_NO_BUDGET};
    if (sscanf(line, "start %" SCNu32 "%n", &op->id, &used) == 1) {
        op->kind = KIT_OP_START;
        if (!read_ticks(line + used, &op->ticks, &used)) {
            return false;
        }
    } else if (sscanf(line, "stop %" SCNu32 "%n", &op->id, &used) == 1) {
        op->kind = KIT_OP_STOP;
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
    } else if (strncmp(line, "advance to next", 15) == 0) {
        op->kind = KIT_OP_NEXT;
        used = 15;
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
    if (*rest != '\0' && strncmp(rest, " options ", 9) != 0) {
        return false;
    }
    return tl_options_parse(algo, *rest != '\0' ? rest + 9 : "", session->options, why,
                            why_bytes) == TL_OK;
}

bool kit_trace_read(struct kit_trace *trace, const struct tl_algo *algo, FILE *stream,
                    const char *name, struct error *error)
{
    *trace = (struct kit_trace){.ops = calloc(KIT_OPS_MAX, sizeof *trace->ops)};
    if (trace->ops == NULL) {
        return error_set(error, "%s: out of memory", name);
    }
    char line[512];
    unsigned number = 0;
    bool created = false;
    bool right = true;
    while (right && fgets(line, sizeof line, stream) != NULL) {
        number++;
        line[strcspn(line, "#\r\n")] = '\0';
        for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--) {
            line[n - 1] = '\0';
        }
        if (line[0] == '\0') {
            continue;
        }
        if (!created) {
            char why[256];
            created = read_create(line, algo, &trace->session, why, sizeof why);
            right = created || error_set(error, "%s, line %u: %s", name, number, why);
        } else if (trace->count == KIT_OPS_MAX) {
            right =
                error_set(error, "%s, line %u: more than %u operations", name, number, KIT_OPS_MAX);
        } else if (!read_op(line, &trace->ops[trace->count])) {
            right = error_set(error,
                              "%s, line %u: '%s' is no operation, or names what is out of "
                              "range",
                              name, number, line);
        } else {
            trace->count++;
        }
    }
    if (right && !created) {
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
