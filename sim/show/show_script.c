/* Scripts. */
#include "show.h"

#include "memory.h"
#include "number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX      3
#define NAME_MAX_BYTES 32

static const struct {
    const char *word;
    enum show_verb verb;
    bool has_name;
    bool has_tick;
} verbs[] = {
    {"start", SHOW_START, true, true},      {"stop", SHOW_STOP, true, false},
    {"advance", SHOW_ADVANCE, false, true}, {"tick", SHOW_TICK, false, false},
    {"wake", SHOW_WAKE, false, false},
};
#define VERBS (sizeof verbs / sizeof verbs[0])

/* Return the id of a name, a new one if it is new. */
static uint32_t id_of(struct show_script *script, const char *name)
{
    for (uint32_t id = 0; id < script->name_count; id++) {
        if (strcmp(script->names[id], name) == 0) {
            return id;
        }
    }
    script->names = memory_resize(script->names, script->name_count + 1, sizeof *script->names);
    script->names[script->name_count] = memory_copy(name);
    return script->name_count++;
}

static bool parse_number(const char *text, uint64_t *value)
{
    static const struct tl_number_form form = {.to = TL_DEADLINE_MAX};
    union tl_number number = {0};
    bool good = tl_number_read(&form, text, &number);
    *value = number.whole;
    return good;
}

static void add_line(struct show_script *script, const struct show_line *line)
{
    script->lines = memory_resize(script->lines, script->line_count + 1, sizeof *script->lines);
    script->lines[script->line_count++] = *line;
}

/* Parse one step. This changes `text`. */
static bool parse_step(struct show_script *script, char *text, struct error *error)
{
    char whole[80];
    char *words[WORDS_MAX + 1] = {NULL};
    size_t count = 0;
    char *rest = NULL;
    (void)snprintf(whole, sizeof whole, "%s", text + strspn(text, " \t\r"));
    for (char *word = strtok_r(text, " \t\r", &rest); word != NULL && count <= WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest)) {
        words[count++] = word;
    }
    if (count == 0) {
        return true;
    }
    size_t v = 0;
    while (v < VERBS && strcmp(verbs[v].word, words[0]) != 0) {
        v++;
    }
    if (v == VERBS) {
        return error_set(error, "step '%s': a step begins with start, stop, advance, tick or wake",
                         whole);
    }
    struct show_line line = {.verb = verbs[v].verb, .ticks = 1};
    size_t used = 1;
    if (verbs[v].has_name) {
        if (words[used] == NULL) {
            return error_set(error, "step '%s': which timer? Any word will do", whole);
        }
        if (strlen(words[used]) > NAME_MAX_BYTES) {
            return error_set(error, "step '%s': a timer's name has at most %d letters", whole,
                             NAME_MAX_BYTES);
        }
        line.id = id_of(script, words[used++]);
    }
    bool counts = line.verb == SHOW_TICK || line.verb == SHOW_WAKE;
    if (verbs[v].has_tick && words[used] == NULL) {
        return error_set(error, "step '%s': which tick? A number, or + and how many from the clock",
                         whole);
    }
    if (words[used] != NULL && (verbs[v].has_tick || counts)) {
        line.relative = !counts && words[used][0] == '+';
        if (!parse_number(words[used] + line.relative, &line.ticks) ||
            (counts && (line.ticks < 1 || line.ticks > SHOW_STEPS_MAX))) {
            return error_set(error,
                             counts ? "step '%s': '%s' is not a number from 1 to 1000"
                                    : "step '%s': '%s' is not a tick",
                             whole, words[used]);
        }
        used++;
    }
    if (used < count) {
        return error_set(error, "step '%s': '%s' is too much; steps are divided by ; or new lines",
                         whole, words[used]);
    }
    add_line(script, &line);
    return true;
}

bool show_script_parse(struct show_script *script, const char *text, struct error *error)
{
    *script = (struct show_script){0};
    char *copy = memory_copy(text);
    bool comment = false;
    for (char *c = copy; *c != '\0'; c++) {
        comment = (comment || *c == '#') && *c != '\n';
        if (comment) {
            *c = ' ';
        } else if (*c == '\n') {
            *c = ';';
        }
    }
    bool good = true;
    char *rest = NULL;
    for (char *step = strtok_r(copy, ";", &rest); good && step != NULL;
         step = strtok_r(NULL, ";", &rest)) {
        good = parse_step(script, step, error);
    }
    free(copy);
    if (good && script->line_count == 0) {
        good = error_set(error, "the script has no steps; for example 'start a 2; advance 2'");
    }
    if (!good) {
        show_script_free(script);
    }
    return good;
}

uint64_t show_script_longest_delay(const struct show_script *script, uint64_t clock)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < script->line_count; i++) {
        const struct show_line *line = &script->lines[i];
        if (line->verb == SHOW_START) {
            uint64_t delay = line->relative        ? line->ticks
                             : line->ticks > clock ? line->ticks - clock
                                                   : 0;
            longest = delay > longest ? delay : longest;
        }
    }
    return longest;
}

/* Set *tick to the tick of a line. Return false if it is too large for a structure. */
static bool tick_of(const struct show_line *line, uint64_t clock, uint64_t *tick)
{
    *tick = line->relative ? clock + line->ticks : line->ticks;
    return *tick <= TL_DEADLINE_MAX;
}

static void advance_to(struct show *show, uint64_t now)
{
    (void)show_advance(show, now, NULL, NULL);
    show_end_step(show, pool_format(&show->pool, "advance %" PRIu64, now), NULL);
}

static bool wake(struct show *show, struct error *error)
{
    if (show->algo->next == NULL) {
        return error_set(error, "wake: %s does not say when it next has work; use tick or advance",
                         show->algo->name);
    }
    uint64_t next = show->algo->next(show->self);
    if (next == TL_NEVER) {
        show_end_step(show, "wake", "nothing is pending: it would sleep on");
    } else {
        advance_to(show, next > show->clock ? next : show->clock);
    }
    return true;
}

static void end_operation(struct show *show, const char *caption, enum tl_status status)
{
    show_end_step(show, caption, status != TL_OK ? tl_status_text(status) : NULL);
}

static bool run_line(const struct show_line *line, struct show *show, struct error *error)
{
    const char *caption = NULL;
    uint64_t tick = 0;
    bool good = true;
    switch (line->verb) {
    case SHOW_START:
        if (!tick_of(line, show->clock, &tick)) {
            return error_set(error, "start %s: the deadline is beyond 2^63", show->names[line->id]);
        }
        caption = pool_format(&show->pool, "%s %s %" PRIu64,
                              show->deadlines[line->id] != TL_NEVER ? "restart" : "start",
                              show->names[line->id], tick);
        end_operation(show, caption, show_start(show, line->id, tick));
        break;
    case SHOW_STOP:
        end_operation(show, pool_format(&show->pool, "stop %s", show->names[line->id]),
                      show_stop(show, line->id));
        break;
    case SHOW_ADVANCE:
        if (!tick_of(line, show->clock, &tick) || tick < show->clock) {
            return error_set(error,
                             "advance %" PRIu64 ": the clock is at %" PRIu64
                             ", and time does not go back",
                             tick, show->clock);
        }
        advance_to(show, tick);
        break;
    case SHOW_TICK:
        for (uint64_t i = 0; i < line->ticks && show->clock < TL_DEADLINE_MAX; i++) {
            advance_to(show, show->clock + 1);
        }
        break;
    case SHOW_WAKE:
        for (uint64_t i = 0; good && i < line->ticks; i++) {
            good = wake(show, error);
        }
        break;
    }
    return good;
}

bool show_script_run(const struct show_script *script, struct show *show, struct error *error)
{
    bool good = true;
    show_end_step(show, "at the beginning", NULL);
    for (size_t i = 0; good && i < script->line_count && !show->truncated; i++) {
        good = run_line(&script->lines[i], show, error);
    }
    return good;
}

void show_script_free(struct show_script *script)
{
    for (uint32_t id = 0; id < script->name_count; id++) {
        free(script->names[id]);
    }
    free(script->names);
    free(script->lines);
    *script = (struct show_script){0};
}
