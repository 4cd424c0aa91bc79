#include "show_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int show_format_held(const struct show *show, const struct show_held *held, char *text,
                     size_t text_bytes)
{
    char number[16];
    const char *name = show_name(show, held->id, number);
    if ((held->marks & TL_MARK_STALE) != 0) {
        return snprintf(text, text_bytes, "%s@%" PRIu64 " stale", name, held->at);
    }
    char at[48] = "";
    if (held->at != TL_NEVER && held->at != held->deadline) {
        (void)snprintf(at, sizeof at, ", filed at %" PRIu64, held->at);
    }
    if (held->rounds > 0) {
        return snprintf(text, text_bytes, "%s@%" PRIu64 "%s, %" PRIu64 " round%s", name,
                        held->deadline, at, held->rounds, held->rounds == 1 ? "" : "s");
    }
    return snprintf(text, text_bytes, "%s@%" PRIu64 "%s", name, held->deadline, at);
}

int show_format_facts(const struct show *show, const struct show_step *step, char *text,
                      size_t text_bytes)
{
    char next[40] = "";
    if (show->algo->next != NULL && step->next == TL_NEVER) {
        (void)snprintf(next, sizeof next, ", next never");
    } else if (show->algo->next != NULL) {
        (void)snprintf(next, sizeof next, ", next %" PRIu64, step->next);
    }
    return snprintf(text, text_bytes, "clock %" PRIu64 ", %" PRIu64 " pending%s", step->clock,
                    step->pending, next);
}

int show_format_work(const struct show_step *step, char *text, size_t text_bytes)
{
    const struct {
        uint64_t count;
        const char *one;
        const char *many;
    } kinds[] = {
        {step->work.compares, "compare", "compares"},
        {step->work.moves, "move", "moves"},
        {step->work.slots, "slot visited", "slots visited"},
        {step->work.cascades, "cascade", "cascades"},
    };
    int used = 0;
    if (text_bytes > 0) {
        text[0] = '\0';
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count > 0) {
            size_t at = (size_t)used < text_bytes ? (size_t)used : text_bytes;
            used += snprintf(text + at, text_bytes - at, "%s%" PRIu64 " %s", used > 0 ? ", " : "",
                             kinds[i].count, kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
        }
    }
    return used;
}

static void write_held(const struct show *show, const struct show_cell *cell, FILE *stream)
{
    char text[128];
    for (size_t i = 0; i < cell->held_count; i++) {
        (void)show_format_held(show, &cell->held[i], text, sizeof text);
        (void)fprintf(stream, "  %s%s", text, cell->held[i].changed ? "*" : "");
    }
    if (cell->held_total > cell->held_count) {
        (void)fprintf(stream, "  and %" PRIu64 " more", cell->held_total - cell->held_count);
    }
}

static void write_marks(uint32_t marks, FILE *stream)
{
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
#define MARK_ROW(code, bit, word, text) {code, word},
        TL_MARK_MAP(MARK_ROW)
#undef MARK_ROW
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((marks & words[i].bit) != 0 && words[i].bit != TL_MARK_HAND) {
            (void)fprintf(stream, "  [%s]", words[i].word);
        }
    }
}

/* Write the rest of a cell's line. */
static void write_contents(const struct show *show, const struct show_cell *cell, FILE *stream)
{
    write_held(show, cell, stream);
    if (cell->refers != NULL) {
        (void)fprintf(stream, "  -> %s", cell->refers);
    }
    write_marks(cell->marks, stream);
    (void)fputc('\n', stream);
}

/* --- wheels and lists ------------------------------------------------------------------------ */

/* If there are more slots, only those with content are written. */
#define SLOTS_SHOWN_ALL 12

static bool has_something(const struct show_cell *cell)
{
    return cell->held_total > 0 || cell->marks != 0 || cell->refers != NULL;
}

static void write_rows(const struct show *show, const struct show_part *part, FILE *stream)
{
    bool wheel = part->form == TL_FORM_WHEEL;
    uint64_t expected = 0;
    char ticks[64];
    for (size_t i = 0; i < part->cell_count; i++) {
        const struct show_cell *cell = &part->cells[i];
        if (wheel && part->cell_total > SLOTS_SHOWN_ALL && !has_something(cell)) {
            continue;
        }
        if (cell->index > expected) {
            (void)fprintf(stream, "      ... %" PRIu64 " empty\n", cell->index - expected);
        }
        expected = cell->index + 1;
        (void)show_format_ticks(cell, ticks, sizeof ticks);
        if (wheel) {
            bool follows = cell->held_total > 0 || (cell->marks & ~(uint32_t)TL_MARK_HAND) != 0;
            (void)fprintf(stream, "    %c slot %-3" PRIu64 "  %-*s",
                          (cell->marks & TL_MARK_HAND) != 0 ? '>' : ' ', cell->index,
                          follows ? 14 : 0, ticks);
        } else {
            (void)fprintf(stream, "      %-3" PRIu64 "%s%s", cell->index + 1,
                          ticks[0] != '\0' ? "  " : "", ticks);
        }
        write_contents(show, cell, stream);
    }
    if (expected < part->cell_total) {
        (void)fprintf(stream, "      ... %" PRIu64 " %s\n", part->cell_total - expected,
                      wheel ? "empty" : "more");
    }
}

/* --- trees ----------------------------------------------------------------------------------- */

static void write_below(const struct show *show, const struct show_part *part, uint64_t parent,
                        unsigned depth, FILE *stream)
{
    char ticks[64];
    for (size_t i = 0; i < part->cell_count; i++) {
        const struct show_cell *cell = &part->cells[i];
        if (cell->parent != parent) {
            continue;
        }
        (void)show_format_ticks(cell, ticks, sizeof ticks);
        (void)fprintf(stream, "%*s%s", (int)(2 * depth) + (ticks[0] != '\0' ? 6 : 4), "", ticks);
        write_contents(show, cell, stream);
        if (depth < SHOW_CELLS_MAX) {
            write_below(show, part, cell->index, depth + 1, stream);
        }
    }
}

static void write_part(const struct show *show, const struct show_part *part, FILE *stream)
{
    (void)fprintf(stream, "  %s", part->name);
    if (part->form == TL_FORM_WHEEL) {
        char slots[64];
        (void)show_format_slots(part, slots, sizeof slots);
        (void)fprintf(stream, ", %s", slots);
    } else if (part->cell_total == 0) {
        (void)fputs(", empty", stream);
    }
    (void)fputc('\n', stream);
    if (part->form == TL_FORM_TREE) {
        write_below(show, part, TL_NEVER, 0, stream);
        if (part->cell_total > part->cell_count) {
            (void)fprintf(stream, "      ... %" PRIu64 " more\n",
                          part->cell_total - part->cell_count);
        }
    } else {
        write_rows(show, part, stream);
    }
}

static void write_step(const struct show *show, size_t index, FILE *stream)
{
    const struct show_step *step = &show->steps[index];
    char facts[128];
    char work[128];
    (void)show_format_facts(show, step, facts, sizeof facts);
    (void)show_format_work(step, work, sizeof work);
    (void)fprintf(stream, "\nstep %zu: %s\n  %s%s%s\n", index, step->caption, facts,
                  work[0] != '\0' ? "; " : "", work);
    if (step->outcome != NULL) {
        (void)fprintf(stream, "  ! %s\n", step->outcome);
    }
    if (step->fired_count > 0) {
        (void)fputs("  fires", stream);
        for (size_t i = 0; i < step->fired_count; i++) {
            char number[16];
            (void)fprintf(stream, "%s %s@%" PRIu64, i > 0 ? "," : "",
                          show_name(show, step->fired[i].id, number), step->fired[i].deadline);
        }
        (void)fputc('\n', stream);
    }
    for (size_t i = 0; i < step->part_count; i++) {
        write_part(show, &step->parts[i], stream);
    }
}

void show_write_text(const struct show *show, FILE *stream)
{
    (void)fprintf(stream, "%s: %s\n", show->title, show->algo->summary);
    (void)fputs(
        "a@5: timer a, which is to fire at tick 5; *: it was put there in this step; >: the "
        "hand\n",
        stream);
    if (!show_sees_inside(show)) {
        (void)fprintf(stream,
                      "%s does not show its inside (it has no hook `walk`): this is its state as "
                      "seen from outside\n",
                      show->algo->name);
    }
    for (size_t i = 0; i < show->step_count; i++) {
        write_step(show, i, stream);
    }
    if (show->truncated) {
        (void)fprintf(stream, "\nmore than %d steps: the rest is not shown\n", SHOW_STEPS_MAX);
    }
}
