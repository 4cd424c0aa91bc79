#include "structure_json.h"

#include "front.h"
#include "json_text.h"
#include "memory.h"
#include "watched.h"

#define FOOTPRINT_SECONDS 60.0 /* on a busy machine, under a sanitizer */

/* Bytes held with `timers` pending, deadlines spread over a minute of milliseconds. */
static enum tl_status bytes_with(const struct tl_algo *algo, const void *options, uint32_t timers,
                                 uint64_t *bytes)
{
    struct tl_memory memory;
    tl_counting_allocator(&memory, tl_system_allocator());
    struct tl_config config = {.capacity = timers,
                               .max_delay_ticks = FOOTPRINT_SPREAD_TICKS,
                               .options = options,
                               .allocator = &memory.allocator};
    void *self = NULL;
    enum tl_status status = algo->create(&config, &self);
    if (status != TL_OK) {
        return status;
    }
    /* In order of deadline, so that a list that is searched from its end stays fast. */
    for (uint32_t id = 0; id < timers && status == TL_OK; id++) {
        status = algo->start(self, id, 1 + (uint64_t)id * (FOOTPRINT_SPREAD_TICKS - 1) / timers);
    }
    *bytes = memory.peak_bytes;
    algo->destroy(self);
    return status;
}

/* Whether a structure without timers takes one for that delay: TL_OK, TL_ERR_HORIZON. */
static enum tl_status try_delay(const struct tl_algo *algo, const void *options,
                                uint64_t delay_ticks)
{
    struct tl_config config = {.capacity = 1,
                               .max_delay_ticks = FOOTPRINT_SPREAD_TICKS,
                               .options = options,
                               .allocator = tl_system_allocator()};
    void *self = NULL;
    enum tl_status status = algo->create(&config, &self);
    if (status == TL_OK) {
        status = algo->start(self, 0, delay_ticks);
        algo->destroy(self);
    }
    return status;
}

/* Finds the longest delay that is taken: whatever is nearer than one that is, is too. */
static enum tl_status measure_horizon(const struct tl_algo *algo, const void *options,
                                      uint64_t *horizon_ticks)
{
    *horizon_ticks = TL_DEADLINE_MAX;
    if ((algo->capabilities & TL_CAP_UNLIMITED) != 0) {
        return TL_OK;
    }
    uint64_t taken = 0;
    uint64_t refused = TL_DEADLINE_MAX + 1;
    while (refused - taken > 1) {
        uint64_t delay = taken + (refused - taken) / 2;
        enum tl_status status = try_delay(algo, options, delay);
        if (status == TL_OK) {
            taken = delay;
        } else if (status == TL_ERR_HORIZON) {
            refused = delay;
        } else {
            return status;
        }
    }
    *horizon_ticks = taken;
    return TL_OK;
}

/* Of a structure, no memory is an answer, but not to this question. */
static void measure_bytes(const struct tl_algo *algo, const void *options,
                          struct footprint *footprint)
{
    uint64_t loaded = 0;
    footprint->status = bytes_with(algo, options, 0, &footprint->bytes_fixed);
    if (footprint->status == TL_OK) {
        footprint->status = bytes_with(algo, options, FOOTPRINT_TIMERS, &loaded);
    }
    if (footprint->status == TL_ERR_NOMEM) {
        memory_end();
    }
    footprint->bytes_per_timer =
        ((double)loaded - (double)footprint->bytes_fixed) / FOOTPRINT_TIMERS;
}

/* The most that is declared for any delay of up to FOOTPRINT_SPREAD_TICKS. */
static struct tl_precision widest_precision(const struct tl_algo *algo, const void *options)
{
    struct tl_precision widest = {0};
    for (uint64_t delay = 0; delay <= FOOTPRINT_SPREAD_TICKS; delay++) {
        struct tl_precision precision = tl_algo_precision(algo, options, delay);
        if (precision.early_ticks > widest.early_ticks) {
            widest.early_ticks = precision.early_ticks;
        }
        if (precision.late_ticks > widest.late_ticks) {
            widest.late_ticks = precision.late_ticks;
        }
    }
    return widest;
}

static bool measure(void *ctx, void *result, struct error *error)
{
    const struct tl_algo *algo = watched(ctx);
    struct footprint *footprint = result;
    (void)error;
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    measure_bytes(algo, options, footprint);
    if (footprint->status == TL_OK) {
        footprint->status = measure_horizon(algo, options, &footprint->horizon_ticks);
    }
    footprint->precision = widest_precision(algo, options);
    footprint->precision_far = tl_algo_precision(algo, options, FOOTPRINT_SPREAD_TICKS);
    return true;
}

struct footprint footprint_measure(const struct tl_algo *algo)
{
    struct footprint footprint = {0};
    struct child_outcome outcome;
    struct error error;
    const struct child_request request = {.run = measure,
                                          .ctx = (void *)algo,
                                          .result_bytes = sizeof footprint,
                                          .timeout_seconds = FOOTPRINT_SECONDS};
    bool made = plug_in_run(algo, &request, &footprint, &outcome, &error);
    const char *fault = made ? child_fault(&outcome) : error.text;
    if (fault != NULL) {
        footprint.status = TL_ERR_UNAVAILABLE;
        (void)snprintf(footprint.fault, sizeof footprint.fault, "%s", fault);
    }
    return footprint;
}

const char *footprint_missing(const struct footprint *footprint)
{
    return footprint->fault[0] != '\0' ? footprint->fault : tl_status_text(footprint->status);
}

void capability_words(uint32_t capabilities, char *text, size_t text_bytes)
{
    size_t rows = 0;
    size_t used = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    text[0] = '\0';
    for (size_t i = 0; i < rows && used < text_bytes; i++) {
        if ((capabilities & row[i].bit) != 0) {
            int n =
                snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? " " : "", row[i].word);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

static json_t *options_json(const struct tl_algo *algo)
{
    json_t *rows = json_array();
    TL_OPTION_VALUES(defaults);
    tl_options_default(algo, defaults);
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        const struct tl_option *option = &algo->options[i];
        char value[64];
        (void)tl_option_format(option, defaults, value, sizeof value);
        json_t *words = json_array();
        json_t *meanings = json_array();
        for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
            (void)json_array_append_new(words, json_string(c->word));
            (void)json_array_append_new(meanings, json_string(c->help));
        }
        json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:s}", "name", option->name, "default", value,
                                "words", words, "meanings", meanings, "help", option->help);
        if (tl_option_is_number(option)) {
            (void)json_object_set_new(row, "min", json_integer((json_int_t)option->min));
            (void)json_object_set_new(row, "max", json_integer((json_int_t)option->max));
        }
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

/* Within a structure's row: in one of its own a front end would be taken for a structure. */
static json_t *fronts_json(const struct tl_algo *algo)
{
    size_t count = 0;
    const struct tl_front *const *fronts = tl_fronts(&count);
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        char why[640];
        const struct tl_algo *composed = catalog_compose(fronts[i], algo, why, sizeof why);
        if (composed != NULL) {
            (void)json_array_append_new(rows, json_pack("{s:s, s:s}", "name", fronts[i]->name,
                                                        "summary", fronts[i]->summary));
        }
        tl_front_release(composed);
    }
    return rows;
}

json_t *structure_json(const struct catalog_entry *entry)
{
    const struct tl_algo *algo = entry->timed;
    struct footprint footprint = footprint_measure(algo);
    size_t count = 0;
    const struct tl_capability_row *capability = tl_capabilities(&count);
    json_t *capabilities = json_array();
    for (size_t i = 0; i < count; i++) {
        if ((algo->capabilities & capability[i].bit) != 0) {
            (void)json_array_append_new(capabilities, json_string(capability[i].word));
        }
    }
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o, s:o, s:o}", "name", algo->name,
                  "summary", algo->summary, "description", algo->description, "origin",
                  algo->origin, "cost", "start", algo->cost.start, "stop", algo->cost.stop, "tick",
                  algo->cost.tick, "expire", algo->cost.expire, "capabilities", capabilities,
                  "options", options_json(algo), "fronts", fronts_json(algo));
    const char *fault = footprint.fault;
    if (fault[0] == '\0') {
        (void)json_object_set_new(
            row, "precision",
            json_pack("{s:I, s:I, s:I}", "delay_max_ticks", (json_int_t)FOOTPRINT_SPREAD_TICKS,
                      "early_ticks", (json_int_t)footprint.precision.early_ticks, "late_ticks",
                      (json_int_t)footprint.precision.late_ticks));
    }
    if (footprint.status == TL_OK) {
        (void)json_object_set_new(row, "bytes_fixed",
                                  json_integer((json_int_t)footprint.bytes_fixed));
        (void)json_object_set_new(row, "bytes_per_timer", json_real(footprint.bytes_per_timer));
        (void)json_object_set_new(row, "horizon_ticks",
                                  footprint.horizon_ticks == TL_DEADLINE_MAX
                                      ? json_null()
                                      : json_integer((json_int_t)footprint.horizon_ticks));
    }
    if (entry->embedded != NULL) {
        (void)json_object_set_new(
            row, "embedded",
            json_pack("{s:I}", "record_bytes", (json_int_t)entry->embedded->embedded_bytes));
    }
    if (fault[0] != '\0') {
        (void)json_object_set_new(row, "fault", json_string(fault));
    }
    if (algo->differs != NULL) {
        (void)json_object_set_new(row, "differs", json_string(algo->differs));
    }
    if (entry->origin_file != NULL) {
        (void)json_object_set_new(row, "plugin", json_text(entry->origin_file));
    }
    return row;
}
