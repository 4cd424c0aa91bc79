/* The steps of a run as text. */
#include "show.h"

#include <inttypes.h>

const char *show_name(struct show *show, uint32_t id)
{
    return show->names != NULL ? show->names[id] : pool_format(&show->passing, "%" PRIu32, id);
}

const char *show_held_text(struct show *show, const struct show_held *held)
{
    struct text text = {.pool = &show->passing};
    const char *name = show_name(show, held->id);
    if ((held->marks & TL_MARK_STALE) != 0) {
        return pool_format(&show->passing, "%s@%" PRIu64 " stale", name, held->at);
    }
    text_add(&text, "%s@%" PRIu64, name, held->deadline);
    if (held->at != TL_NEVER && held->at != held->deadline) {
        text_add(&text, ", filed at %" PRIu64, held->at);
    }
    if (held->rounds > 0) {
        text_add(&text, ", %" PRIu64 " round%s", held->rounds, held->rounds == 1 ? "" : "s");
    }
    return text_end(&text);
}

const char *show_facts(struct show *show, const struct show_step *step)
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
    struct text text = {.pool = &show->passing};
    text_add(&text, "clock %" PRIu64 ", %" PRIu64 " pending", step->clock, step->pending);
    if (show->algo->next != NULL && step->next == TL_NEVER) {
        text_add(&text, ", next never");
    } else if (show->algo->next != NULL) {
        text_add(&text, ", next %" PRIu64, step->next);
    }
    const char *separator = "; ";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count > 0) {
            text_add(&text, "%s%" PRIu64 " %s", separator, kinds[i].count,
                     kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
            separator = ", ";
        }
    }
    return text_end(&text);
}

const char *show_slots(struct show *show, const struct show_part *part)
{
    const char *many = part->cell_total == 1 ? "" : "s";
    if (part->cell_ticks == 0) {
        return pool_format(&show->passing, "%" PRIu64 " slot%s", part->cell_total, many);
    }
    return pool_format(&show->passing, "%" PRIu64 " slot%s of %" PRIu64 " tick%s", part->cell_total,
                       many, part->cell_ticks, part->cell_ticks == 1 ? "" : "s");
}

/* "tick 4", "ticks 4 to 7", or "" for none. */
static const char *ticks_of(struct show *show, const struct show_cell *cell)
{
    if (cell->from == TL_NEVER) {
        return "";
    }
    if (cell->from == cell->to) {
        return pool_format(&show->passing, "tick %" PRIu64, cell->from);
    }
    if (cell->to >= TL_DEADLINE_MAX) {
        return pool_format(&show->passing, "from tick %" PRIu64 " on", cell->from);
    }
    return pool_format(&show->passing, "ticks %" PRIu64 " to %" PRIu64, cell->from, cell->to);
}

static void write_held(struct show *show, const struct show_cell *cell, FILE *stream)
{
    for (size_t i = 0; i < cell->held_count; i++) {
        (void)fprintf(stream, "  %s%s", show_held_text(show, &cell->held[i]),
                      cell->held[i].changed ? "*" : "");
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
static void write_contents(struct show *show, const struct show_cell *cell, FILE *stream)
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

static void write_rows(struct show *show, const struct show_part *part, FILE *stream)
{
    bool wheel = part->form == TL_FORM_WHEEL;
    uint64_t expected = 0;
    for (size_t i = 0; i < part->cell_count; i++) {
        const struct show_cell *cell = &part->cells[i];
        if (wheel && part->cell_total > SLOTS_SHOWN_ALL && !has_something(cell)) {
            continue;
        }
        if (cell->index > expected) {
            (void)fprintf(stream, "      ... %" PRIu64 " empty\n", cell->index - expected);
        }
        expected = cell->index + 1;
        const char *ticks = ticks_of(show, cell);
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

static void write_below(struct show *show, const struct show_part *part, uint64_t parent,
                        unsigned depth, FILE *stream)
{
    for (size_t i = 0; i < part->cell_count; i++) {
        const struct show_cell *cell = &part->cells[i];
        if (cell->parent != parent) {
            continue;
        }
        const char *ticks = ticks_of(show, cell);
        (void)fprintf(stream, "%*s%s", (int)(2 * depth) + (ticks[0] != '\0' ? 6 : 4), "", ticks);
        write_contents(show, cell, stream);
        if (depth < SHOW_CELLS_MAX) {
            write_below(show, part, cell->index, depth + 1, stream);
        }
    }
}

static void write_part(struct show *show, const struct show_part *part, FILE *stream)
{
    (void)fprintf(stream, "  %s", part->name);
    if (part->form == TL_FORM_WHEEL) {
        (void)fprintf(stream, ", %s", show_slots(show, part));
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

static void write_step(struct show *show, size_t index, FILE *stream)
{
    const struct show_step *step = &show->steps[index];
    (void)fprintf(stream, "\nstep %zu: %s\n  %s\n", index, step->caption, show_facts(show, step));
    if (step->outcome != NULL) {
        (void)fprintf(stream, "  ! %s\n", step->outcome);
    }
    if (step->fired_count > 0) {
        (void)fputs("  fires", stream);
        for (size_t i = 0; i < step->fired_count; i++) {
            (void)fprintf(stream, "%s %s@%" PRIu64, i > 0 ? "," : "",
                          show_name(show, step->fired[i].id), step->fired[i].deadline);
        }
        (void)fputc('\n', stream);
    }
    for (size_t i = 0; i < step->part_count; i++) {
        write_part(show, &step->parts[i], stream);
    }
    pool_free(&show->passing);
}

void show_write_text(struct show *show, FILE *stream)
{
    (void)fprintf(stream, "%s: %s\n", show->title, show->algo->summary);
    (void)fputs(
        "a@5: timer a, which is to fire at tick 5; *: it was put there in this step; >: the "
        "hand\n",
        stream);
    if (show->algo->walk == NULL) {
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
