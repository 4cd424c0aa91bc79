#include "trace_block.h"

#include "trace_format.h"

#include <string.h>

enum { WIDTH_TICKS, WIDTH_LENGTHS, WIDTH_IDS, WIDTH_DELAYS, WIDTHS };

#define CODE_STOP 1u
#define CODE_NEXT 2u

/* --- encoding -------------------------------------------------------------------------------- */

void trace_columns_clear(struct trace_columns *columns)
{
    columns->records = 0;
    columns->groups = 0;
    columns->literals = 0;
    columns->starts = 0;
    columns->reactions = 0;
    columns->slack_bits = 0;
    columns->previous_id = 0;
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

void trace_columns_add(struct trace_columns *columns, uint64_t tick, uint32_t id, enum trace_op op,
                       uint64_t delay_ticks, struct trace_cause cause)
{
    uint32_t n = columns->records++;
    if (n == 0 || columns->ticks[columns->groups - 1] != tick) {
        columns->ticks[columns->groups] = tick;
        columns->lengths[columns->groups] = 0;
        columns->groups++;
    }
    columns->lengths[columns->groups - 1]++;

    bool next = id == columns->previous_id + 1u;
    columns->ids[columns->literals] = id;
    columns->literals += !next;
    columns->previous_id = id;
    columns->delays[columns->starts] = delay_ticks;
    columns->slacks[columns->starts] = cause.slack_ticks;
    columns->slack_bits |= op == TRACE_START ? cause.slack_ticks : 0;
    columns->starts += op == TRACE_START;

    unsigned code = (op == TRACE_STOP ? CODE_STOP : 0u) | (next ? CODE_NEXT : 0u);
    uint8_t *at = &columns->codes[n / 4];
    unsigned shift = 2u * (n % 4);
    *at = (uint8_t)(shift == 0 ? code : *at | code << shift);

    bool reaction = cause.basis != TRACE_EXTERNAL;
    columns->differences[columns->reactions] = fold_difference(cause.id - id);
    columns->bases[columns->reactions] = (uint8_t)cause.basis;
    columns->reactions += reaction;
    at = &columns->which[n / 8];
    *at = (uint8_t)((n % 8 == 0 ? 0u : *at) | (unsigned)reaction << n % 8);
}

static unsigned width_of(uint64_t value)
{
    unsigned width = 0;
    for (; value != 0; value >>= 8) {
        width++;
    }
    return width;
}

#define DEFINE_PUT_PLANES(bits)                                                                    \
    static uint8_t *put_planes_u##bits(uint8_t *at, const uint##bits##_t *values, size_t n,        \
                                       unsigned width)                                             \
    {                                                                                              \
        for (unsigned plane = 0; plane < width; plane++) {                                         \
            for (size_t i = 0; i < n; i++) {                                                       \
                at[i] = (uint8_t)(values[i] >> (8 * plane));                                       \
            }                                                                                      \
            at += n;                                                                               \
        }                                                                                          \
        return at;                                                                                 \
    }
DEFINE_PUT_PLANES(32)
DEFINE_PUT_PLANES(64)

static uint8_t *put_causes(const struct trace_columns *columns, uint8_t *at)
{
    uint32_t reactions = columns->reactions;
    uint32_t differences = 0;
    for (uint32_t i = 0; i < reactions; i++) {
        differences |= columns->differences[i];
    }
    unsigned width = width_of(differences);
    trace_put_u32(at, reactions);
    at[4] = (uint8_t)width;
    at += TRACE_BLOCK_CAUSES_BYTES;
    size_t which_bytes = ((size_t)columns->records + 7) / 8;
    (void)memcpy(at, columns->which, which_bytes);
    at += which_bytes;
    (void)memcpy(at, columns->bases, reactions);
    return put_planes_u32(at + reactions, columns->differences, reactions, width);
}

static uint8_t *put_slack(const struct trace_columns *columns, uint8_t *at)
{
    unsigned width = width_of(columns->slack_bits);
    *at++ = (uint8_t)width;
    return put_planes_u32(at, columns->slacks, columns->starts, width);
}

size_t trace_columns_encode(const struct trace_columns *columns, uint8_t *raw)
{
    /* The bitwise or has the same width in bytes as the maximum. */
    uint64_t steps = 0;
    uint32_t lengths = 0;
    uint32_t ids = 0;
    uint64_t delays = 0;
    for (uint32_t i = 0; i < columns->groups; i++) {
        steps |= i > 0 ? columns->ticks[i] - columns->ticks[i - 1] : 0;
        lengths |= columns->lengths[i] - 1;
    }
    for (uint32_t i = 0; i < columns->literals; i++) {
        ids |= columns->ids[i];
    }
    for (uint32_t i = 0; i < columns->starts; i++) {
        delays |= columns->delays[i];
    }
    unsigned width[WIDTHS] = {width_of(steps), width_of(lengths), width_of(ids), width_of(delays)};

    trace_put_u64(raw, columns->ticks[0]);
    trace_put_u32(raw + 8, columns->groups);
    trace_put_u32(raw + 12, columns->literals);
    trace_put_u32(raw + 16, columns->starts);
    for (unsigned i = 0; i < WIDTHS; i++) {
        raw[20 + i] = (uint8_t)width[i];
    }
    uint8_t *at = raw + TRACE_BLOCK_PREFIX_BYTES;
    for (unsigned plane = 0; plane < width[WIDTH_TICKS]; plane++) {
        for (uint32_t i = 1; i < columns->groups; i++) {
            *at++ = (uint8_t)((columns->ticks[i] - columns->ticks[i - 1]) >> (8 * plane));
        }
    }
    for (unsigned plane = 0; plane < width[WIDTH_LENGTHS]; plane++) {
        for (uint32_t i = 0; i < columns->groups; i++) {
            *at++ = (uint8_t)((columns->lengths[i] - 1) >> (8 * plane));
        }
    }
    size_t code_bytes = (columns->records + 3) / 4;
    (void)memcpy(at, columns->codes, code_bytes);
    at += code_bytes;
    at = put_planes_u32(at, columns->ids, columns->literals, width[WIDTH_IDS]);
    at = put_planes_u64(at, columns->delays, columns->starts, width[WIDTH_DELAYS]);
    at = columns->reactions > 0 || columns->slack_bits != 0 ? put_causes(columns, at) : at;
    at = columns->slack_bits != 0 ? put_slack(columns, at) : at;
    return (size_t)(at - raw);
}

/* --- decoding -------------------------------------------------------------------------------- */

/* Return one number of a short column. */
static uint64_t plane_value(const uint8_t *column, size_t n, size_t i, unsigned width)
{
    uint64_t value = 0;
    for (unsigned plane = 0; plane < width; plane++) {
        value |= (uint64_t)column[plane * n + i] << (8 * plane);
    }
    return value;
}

/* A loop for each width, so that each is vectorized. */
#define DEFINE_GET_PLANES(bits)                                                                    \
    static void get_planes_u##bits(uint##bits##_t *restrict values, const uint8_t *restrict at,    \
                                   size_t n, unsigned width)                                       \
    {                                                                                              \
        switch (width) {                                                                           \
        case 0:                                                                                    \
            (void)memset(values, 0, n * sizeof *values);                                           \
            break;                                                                                 \
        case 1:                                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                values[i] = at[i];                                                                 \
            }                                                                                      \
            break;                                                                                 \
        case 2:                                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                values[i] = at[i] | (uint##bits##_t)at[n + i] << 8;                                \
            }                                                                                      \
            break;                                                                                 \
        case 3:                                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                values[i] =                                                                        \
                    at[i] | (uint##bits##_t)at[n + i] << 8 | (uint##bits##_t)at[2 * n + i] << 16;  \
            }                                                                                      \
            break;                                                                                 \
        case 4:                                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                values[i] = at[i] | (uint##bits##_t)at[n + i] << 8 |                               \
                            (uint##bits##_t)at[2 * n + i] << 16 |                                  \
                            (uint##bits##_t)at[3 * n + i] << 24;                                   \
            }                                                                                      \
            break;                                                                                 \
        default:                                                                                   \
            for (size_t i = 0; i < n; i++) {                                                       \
                values[i] = (uint##bits##_t)plane_value(at, n, i, width);                          \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
    }
DEFINE_GET_PLANES(32)
DEFINE_GET_PLANES(64)

/* Return how many of the codes have `bit` (CODE_STOP, CODE_NEXT) set. */
static uint32_t count_codes(const uint8_t *codes, size_t bytes, unsigned bit)
{
    const uint64_t mask = UINT64_C(0x5555555555555555) * bit;
    uint32_t count = 0;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word;
        (void)memcpy(&word, codes + i, sizeof word);
        count += (uint32_t)__builtin_popcountll(word & mask);
    }
    for (; i < bytes; i++) {
        count += (uint32_t)__builtin_popcountll(codes[i] & mask);
    }
    return count;
}

/* Read the groups' ticks and lengths. */
static const char *decode_groups(const uint8_t *ticks, unsigned tick_width, const uint8_t *lengths,
                                 unsigned length_width, uint64_t tick,
                                 const struct trace_block_limits *limits,
                                 struct trace_decoded *decoded)
{
    uint32_t n = decoded->group_count;
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            uint64_t step = plane_value(ticks, n - 1, i - 1, tick_width);
            if (step == 0 || step > TRACE_TICK_MAX) {
                return "a step from tick to tick is out of range";
            }
            tick += step;
        }
        if (tick >= limits->end_tick) {
            return "a tick is not before the trace's end";
        }
        uint64_t length = plane_value(lengths, n, i, length_width) + 1;
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
    get_planes_u32(decoded->ids, raw + TRACE_BLOCK_SLACK_BYTES, decoded->starts, width);
    const uint32_t *next = decoded->ids;
    for (uint32_t i = 0; i < decoded->record_count; i++) {
        if (decoded->records[i].op == TRACE_START) {
            uint32_t slack = *next++;
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
                                 const struct trace_block_limits *limits,
                                 struct trace_decoded *decoded)
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
    get_planes_u32(decoded->ids, differences, reactions, width);
    uint32_t at = 0;
    for (uint32_t i = 0; i < records; i++) {
        const struct trace_record *record = &decoded->records[i];
        struct trace_cause *cause = &decoded->causes[i];
        if (((unsigned)which[i / 8] >> (i % 8) & 1u) == 0) {
            *cause = (struct trace_cause){0};
            continue;
        }
        *cause = (struct trace_cause){.id = record->id + unfold_difference(decoded->ids[at]),
                                      .basis = bases[at]};
        at++;
        if (cause->id >= limits->ids) {
            return "a cause is not below the header's number of timers";
        }
        if (cause->basis == TRACE_EXTERNAL || cause->basis > TRACE_ABSOLUTE ||
            (record->op == TRACE_STOP && cause->basis != TRACE_FIXED_DELAY)) {
            return "the base of a delay is out of range";
        }
    }
    decoded->reactions = reactions;
    return decode_slack(raw + slack_at, raw_bytes - slack_at, limits->max_slack_ticks, decoded);
}

const char *trace_block_decode(const uint8_t *raw, size_t raw_bytes, uint32_t record_count,
                               const struct trace_block_limits *limits,
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
    if (width[WIDTH_TICKS] > 8 || width[WIDTH_LENGTHS] > 2 || width[WIDTH_IDS] > 4 ||
        width[WIDTH_DELAYS] > 8) {
        return "the width of a column is out of range";
    }
    size_t code_bytes = ((size_t)record_count + 3) / 4;
    size_t lengths_at = TRACE_BLOCK_PREFIX_BYTES + (size_t)(groups - 1) * width[WIDTH_TICKS];
    size_t codes_at = lengths_at + (size_t)groups * width[WIDTH_LENGTHS];
    size_t ids_at = codes_at + code_bytes;
    size_t delays_at = ids_at + (size_t)literals * width[WIDTH_IDS];
    size_t causes_at = delays_at + (size_t)starts * width[WIDTH_DELAYS];
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
    if (first_tick < limits->min_tick) {
        return "time goes back";
    }
    decoded->record_count = record_count;
    decoded->group_count = groups;
    decoded->starts = starts;
    const char *why =
        decode_groups(raw + TRACE_BLOCK_PREFIX_BYTES, width[WIDTH_TICKS], raw + lengths_at,
                      width[WIDTH_LENGTHS], first_tick, limits, decoded);
    if (why != NULL) {
        return why;
    }
    get_planes_u32(decoded->ids, raw + ids_at, literals, width[WIDTH_IDS]);
    get_planes_u64(decoded->delays, raw + delays_at, starts, width[WIDTH_DELAYS]);
    decoded->ids[literals] = 0;
    decoded->delays[starts] = 0;
    uint64_t max_delay = 0;
    for (uint32_t i = 0; i < starts; i++) {
        max_delay = decoded->delays[i] > max_delay ? decoded->delays[i] : max_delay;
    }
    if (max_delay > limits->max_delay_ticks) {
        return "a delay is longer than the header's longest";
    }
    decoded->max_delay_ticks = max_delay;

    uint32_t id = 0;
    uint32_t max_id = 0;
    const uint32_t *next_id = decoded->ids;
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
            uint32_t literal = *next_id;
            id = next != 0 ? id + 1 : literal;
            next_id += next ^ 1u;
            uint64_t deadline = tick + *next_delay;
            deadline &= (uint64_t)stop - 1;
            next_delay += stop ^ 1u;
            max_id = id > max_id ? id : max_id;
            *record++ = (struct trace_record){.deadline = deadline, .id = id, .op = stop};
        }
    }
    return max_id < limits->ids
               ? decode_causes(raw + causes_at, raw_bytes - causes_at, limits, decoded)
               : "an id is not below the header's number of timers";
}
