#include "trace_block.h"

#include "trace_format.h"

#include <string.h>

#define CODE_STOP 1u
#define CODE_NEXT 2u

/* --- encoding -------------------------------------------------------------------------------- */

void trace_columns_clear(struct trace_columns *columns)
{
    columns->records = 0;
    columns->previous_id = 0;
    for (unsigned i = 0; i < TRACE_COLUMNS; i++) {
        columns->columns[i].count = 0;
        columns->columns[i].bits = 0;
    }
}

/* Map the difference of two ids modulo 2^32, so that small differences of either sign become small
 * numbers. */
static uint32_t fold_difference(uint32_t difference)
{
    return difference >> 31 != 0 ? ~(difference << 1) : difference << 1;
}

static uint32_t unfold_difference(uint32_t folded)
{
    return (folded & 1) != 0 ? ~(folded >> 1) : folded >> 1;
}

static void add_number(struct trace_columns *columns, enum trace_column_kind kind, uint64_t number)
{
    struct trace_column *column = &columns->columns[kind];
    column->numbers[column->count++] = number;
    column->bits |= number;
}

/* Add a record to the run of its tick. */
static void add_tick(struct trace_columns *columns, uint64_t tick)
{
    struct trace_column *lengths = &columns->columns[TRACE_COLUMN_LENGTHS];
    if (columns->records > 0 && tick == columns->last_tick) {
        lengths->bits |= ++lengths->numbers[lengths->count - 1];
        return;
    }
    if (columns->records == 0) {
        columns->first_tick = tick;
    } else {
        add_number(columns, TRACE_COLUMN_STEPS, tick - columns->last_tick);
    }
    columns->last_tick = tick;
    add_number(columns, TRACE_COLUMN_LENGTHS, 0);
}

void trace_columns_add(struct trace_columns *columns, uint64_t tick, uint32_t id, enum trace_op op,
                       uint64_t delay_ticks, struct trace_cause cause)
{
    add_tick(columns, tick);
    uint32_t n = columns->records++;
    bool next = id == columns->previous_id + 1u;
    columns->previous_id = id;
    if (!next) {
        add_number(columns, TRACE_COLUMN_IDS, id);
    }
    if (op == TRACE_START) {
        add_number(columns, TRACE_COLUMN_DELAYS, delay_ticks);
        add_number(columns, TRACE_COLUMN_SLACKS, cause.slack_ticks);
    }
    unsigned code = (op == TRACE_STOP ? CODE_STOP : 0u) | (next ? CODE_NEXT : 0u);
    uint8_t *at = &columns->codes[n / 4];
    *at = (uint8_t)((n % 4 == 0 ? 0u : *at) | code << 2 * (n % 4));

    bool reaction = cause.basis != TRACE_EXTERNAL;
    if (reaction) {
        uint32_t at_reaction = columns->columns[TRACE_COLUMN_DIFFERENCES].count;
        columns->bases[at_reaction] = (uint8_t)cause.basis;
        add_number(columns, TRACE_COLUMN_DIFFERENCES, fold_difference(cause.id - id));
    }
    at = &columns->which[n / 8];
    *at = (uint8_t)((n % 8 == 0 ? 0u : *at) | (unsigned)reaction << n % 8);
}

/* Return the width of a column in bytes. */
static uint8_t width_of(const struct trace_column *column)
{
    uint8_t width = 0;
    for (uint64_t bits = column->bits; bits != 0; bits >>= 8) {
        width++;
    }
    return width;
}

static uint8_t *put_bytes(uint8_t *at, const uint8_t *bytes, size_t n)
{
    (void)memcpy(at, bytes, n);
    return at + n;
}

static uint8_t *put_column(uint8_t *at, const struct trace_column *column)
{
    const unsigned width = width_of(column);
    for (unsigned plane = 0; plane < width; plane++) {
        for (uint32_t i = 0; i < column->count; i++) {
            *at++ = (uint8_t)(column->numbers[i] >> (8 * plane));
        }
    }
    return at;
}

size_t trace_columns_encode(const struct trace_columns *columns, uint8_t *raw)
{
    const struct trace_column *column = columns->columns;
    const uint32_t reactions = column[TRACE_COLUMN_DIFFERENCES].count;
    const bool slack = column[TRACE_COLUMN_SLACKS].bits != 0;
    trace_put_u64(raw, columns->first_tick);
    trace_put_u32(raw + 8, column[TRACE_COLUMN_LENGTHS].count);
    trace_put_u32(raw + 12, column[TRACE_COLUMN_IDS].count);
    trace_put_u32(raw + 16, column[TRACE_COLUMN_DELAYS].count);
    for (unsigned i = 0; i < TRACE_BLOCK_WIDTHS; i++) {
        raw[20 + i] = width_of(&column[i]);
    }
    uint8_t *at = raw + TRACE_BLOCK_PREFIX_BYTES;
    at = put_column(at, &column[TRACE_COLUMN_STEPS]);
    at = put_column(at, &column[TRACE_COLUMN_LENGTHS]);
    at = put_bytes(at, columns->codes, ((size_t)columns->records + 3) / 4);
    at = put_column(at, &column[TRACE_COLUMN_IDS]);
    at = put_column(at, &column[TRACE_COLUMN_DELAYS]);
    if (reactions > 0 || slack) {
        trace_put_u32(at, reactions);
        at[4] = width_of(&column[TRACE_COLUMN_DIFFERENCES]);
        at += TRACE_BLOCK_CAUSES_BYTES;
        at = put_bytes(at, columns->which, ((size_t)columns->records + 7) / 8);
        at = put_bytes(at, columns->bases, reactions);
        at = put_column(at, &column[TRACE_COLUMN_DIFFERENCES]);
    }
    if (slack) {
        *at++ = width_of(&column[TRACE_COLUMN_SLACKS]);
        at = put_column(at, &column[TRACE_COLUMN_SLACKS]);
    }
    return (size_t)(at - raw);
}

/* --- decoding -------------------------------------------------------------------------------- */

/* Read a column of `n` numbers of `width` bytes at `at`. */
static void get_column(uint64_t *restrict numbers, const uint8_t *restrict at, size_t n,
                       unsigned width)
{
    (void)memset(numbers, 0, n * sizeof *numbers);
    for (unsigned plane = 0; plane < width; plane++) {
        for (size_t i = 0; i < n; i++) {
            numbers[i] |= (uint64_t)at[i] << (8 * plane);
        }
        at += n;
    }
}

/* Return how many of the codes have `bit` (CODE_STOP, CODE_NEXT) set. */
static uint32_t count_codes(const uint8_t *codes, size_t bytes, unsigned bit)
{
    uint32_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += (uint32_t)__builtin_popcount(codes[i] & (0x55u * bit));
    }
    return count;
}

/* Make the groups, from the steps between their ticks and their lengths less 1, which are in the
 * memory of the delays and the ids. */
static const char *decode_groups(uint64_t tick, uint64_t end_tick, struct trace_decoded *decoded)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < decoded->group_count; i++) {
        if (i > 0) {
            uint64_t step = decoded->delays[i - 1];
            if (step == 0 || step > TRACE_TICK_MAX) {
                return "a step from tick to tick is out of range";
            }
            tick += step;
        }
        if (tick >= end_tick) {
            return "a tick is not before the trace's end";
        }
        uint64_t length = decoded->ids[i] + 1;
        if (length > decoded->record_count - first) {
            return "the runs of equal ticks are longer than the block";
        }
        decoded->groups[i] =
            (struct trace_group){.tick = tick, .first = first, .count = (uint32_t)length};
        first += (uint32_t)length;
    }
    return first == decoded->record_count ? NULL
                                          : "the runs of equal ticks are shorter than the block";
}

/* Read the slack of the starts, using the memory of the ids. */
static const char *decode_slack(const uint8_t *raw, size_t raw_bytes, uint32_t most,
                                struct trace_decoded *decoded)
{
    if (raw_bytes == 0) {
        return NULL;
    }
    unsigned width = raw[0];
    if (width == 0 || width > 4) {
        return "the width of a column is out of range";
    }
    if (raw_bytes != TRACE_BLOCK_SLACK_BYTES + (size_t)decoded->starts * width) {
        return "its columns do not fill it";
    }
    get_column(decoded->ids, raw + TRACE_BLOCK_SLACK_BYTES, decoded->starts, width);
    const uint64_t *next = decoded->ids;
    for (uint32_t i = 0; i < decoded->record_count; i++) {
        if (decoded->records[i].op == TRACE_START) {
            uint32_t slack = (uint32_t)*next++;
            decoded->causes[i].slack_ticks = slack;
            decoded->max_slack_ticks =
                slack > decoded->max_slack_ticks ? slack : decoded->max_slack_ticks;
        }
    }
    return decoded->max_slack_ticks == 0     ? "it has a column of slack without any"
           : decoded->max_slack_ticks > most ? "a slack is longer than the header's longest"
                                             : NULL;
}

/* Read the causes of the operations, and their slack. The other columns have been read, so that the
 * memory of the ids can be used. */
static const char *decode_causes(const uint8_t *raw, size_t raw_bytes,
                                 const struct trace_header *header, struct trace_decoded *decoded)
{
    uint32_t records = decoded->record_count;
    size_t which_bytes = ((size_t)records + 7) / 8;
    decoded->reactions = 0;
    decoded->max_slack_ticks = 0;
    decoded->has_causes = raw_bytes > 0;
    if (raw_bytes == 0) {
        return NULL;
    }
    if (raw_bytes < TRACE_BLOCK_CAUSES_BYTES) {
        return "its columns do not fill it";
    }
    uint32_t reactions = trace_get_u32(raw);
    unsigned width = raw[4];
    if (reactions > records || width > 4) {
        return "the length or width of a column is out of range";
    }
    const uint8_t *which = raw + TRACE_BLOCK_CAUSES_BYTES;
    const uint8_t *bases = which + which_bytes;
    const uint8_t *differences = bases + reactions;
    size_t slack_at = TRACE_BLOCK_CAUSES_BYTES + which_bytes + (size_t)reactions * (1 + width);
    if (raw_bytes < slack_at || (reactions == 0 && raw_bytes == slack_at)) {
        return "its columns do not fill it";
    }
    uint32_t found = 0;
    for (size_t i = 0; i < which_bytes; i++) {
        found += (uint32_t)__builtin_popcount(which[i]);
    }
    if (found != reactions || (records % 8 != 0 && which[which_bytes - 1] >> (records % 8) != 0)) {
        return "the lengths of its columns contradict its operations";
    }
    get_column(decoded->ids, differences, reactions, width);
    uint32_t at = 0;
    for (uint32_t i = 0; i < records; i++) {
        const struct trace_record *record = &decoded->records[i];
        struct trace_cause *cause = &decoded->causes[i];
        if (((unsigned)which[i / 8] >> (i % 8) & 1u) == 0) {
            *cause = (struct trace_cause){0};
            continue;
        }
        uint32_t difference = unfold_difference((uint32_t)decoded->ids[at]);
        *cause = (struct trace_cause){.id = record->id + difference, .basis = bases[at]};
        at++;
        if (cause->id >= header->ids) {
            return "a cause is not below the header's number of timers";
        }
        if (cause->basis == TRACE_EXTERNAL || cause->basis > TRACE_ABSOLUTE ||
            (record->op == TRACE_STOP && cause->basis != TRACE_FIXED_DELAY)) {
            return "the base of a delay is out of range";
        }
    }
    decoded->reactions = reactions;
    return decode_slack(raw + slack_at, raw_bytes - slack_at, header->max_slack_ticks, decoded);
}

const char *trace_block_decode(const uint8_t *raw, size_t raw_bytes, uint32_t record_count,
                               uint64_t min_tick, const struct trace_header *header,
                               struct trace_decoded *decoded)
{
    if (record_count == 0 || record_count > TRACE_BLOCK_RECORDS) {
        return "its number of operations is out of range";
    }
    if (raw_bytes < TRACE_BLOCK_PREFIX_BYTES) {
        return "it is too short";
    }
    uint64_t first_tick = trace_get_u64(raw);
    uint32_t groups = trace_get_u32(raw + 8);
    uint32_t literals = trace_get_u32(raw + 12);
    uint32_t starts = trace_get_u32(raw + 16);
    const uint8_t *width = raw + 20;
    if (groups == 0 || groups > record_count || literals > record_count || starts > record_count) {
        return "the length of a column is out of range";
    }
    if (width[TRACE_COLUMN_STEPS] > 8 || width[TRACE_COLUMN_LENGTHS] > 2 ||
        width[TRACE_COLUMN_IDS] > 4 || width[TRACE_COLUMN_DELAYS] > 8) {
        return "the width of a column is out of range";
    }
    size_t code_bytes = ((size_t)record_count + 3) / 4;
    size_t lengths_at = TRACE_BLOCK_PREFIX_BYTES + (size_t)(groups - 1) * width[TRACE_COLUMN_STEPS];
    size_t codes_at = lengths_at + (size_t)groups * width[TRACE_COLUMN_LENGTHS];
    size_t ids_at = codes_at + code_bytes;
    size_t delays_at = ids_at + (size_t)literals * width[TRACE_COLUMN_IDS];
    size_t causes_at = delays_at + (size_t)starts * width[TRACE_COLUMN_DELAYS];
    if (raw_bytes < causes_at) {
        return "its columns do not fill it";
    }
    const uint8_t *codes = raw + codes_at;
    /* After this check the loop below cannot leave the columns. Bits after the last record must be
     * 0. */
    if (count_codes(codes, code_bytes, CODE_STOP) != record_count - starts ||
        count_codes(codes, code_bytes, CODE_NEXT) != record_count - literals ||
        (record_count % 4 != 0 && codes[code_bytes - 1] >> (2 * (record_count % 4)) != 0)) {
        return "the lengths of its columns contradict its operations";
    }
    if (first_tick < min_tick) {
        return "time goes back";
    }
    decoded->record_count = record_count;
    decoded->group_count = groups;
    decoded->starts = starts;
    get_column(decoded->delays, raw + TRACE_BLOCK_PREFIX_BYTES, groups - 1,
               width[TRACE_COLUMN_STEPS]);
    get_column(decoded->ids, raw + lengths_at, groups, width[TRACE_COLUMN_LENGTHS]);
    const char *why = decode_groups(first_tick, header->end_tick, decoded);
    if (why != NULL) {
        return why;
    }
    get_column(decoded->ids, raw + ids_at, literals, width[TRACE_COLUMN_IDS]);
    get_column(decoded->delays, raw + delays_at, starts, width[TRACE_COLUMN_DELAYS]);
    decoded->ids[literals] = 0;
    decoded->delays[starts] = 0;
    uint64_t max_delay = 0;
    for (uint32_t i = 0; i < starts; i++) {
        max_delay = decoded->delays[i] > max_delay ? decoded->delays[i] : max_delay;
    }
    if (max_delay > header->max_delay_ticks) {
        return "a delay is longer than the header's longest";
    }
    decoded->max_delay_ticks = max_delay;

    uint32_t id = 0;
    uint32_t max_id = 0;
    const uint64_t *next_id = decoded->ids;
    const uint64_t *next_delay = decoded->delays;
    struct trace_record *record = decoded->records;
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t tick = decoded->groups[g].tick;
        uint32_t end = decoded->groups[g].first + decoded->groups[g].count;
        for (uint32_t i = decoded->groups[g].first; i < end; i++) {
            unsigned code = (unsigned)codes[i / 4] >> (2 * (i % 4));
            uint32_t stop = code & CODE_STOP;
            uint32_t next = (code >> 1) & 1u;
            /* Branch-free, because the order of operations is random. */
            uint32_t literal = (uint32_t)*next_id;
            id = next != 0 ? id + 1 : literal;
            next_id += next ^ 1u;
            uint64_t deadline = tick + *next_delay;
            deadline &= (uint64_t)stop - 1;
            next_delay += stop ^ 1u;
            max_id = id > max_id ? id : max_id;
            *record++ = (struct trace_record){.deadline = deadline, .id = id, .op = stop};
        }
    }
    return max_id < header->ids
               ? decode_causes(raw + causes_at, raw_bytes - causes_at, header, decoded)
               : "an id is not below the header's number of timers";
}
