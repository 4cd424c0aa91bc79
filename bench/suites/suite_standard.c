/*
 * standard-1: streams that stay as they are, so that what different people measure, at different
 * times, can be laid next to one another. A stream is frozen by the checksum of all its operations;
 * what changes one of them belongs to a suite with another number. Every connection has a record of
 * 64 bytes, and the timer's own bytes lie in it where the structure can have them there.
 */
#include "stream.h"
#include "suites.h"

#define STANDARD   "standard-1"

/* Numbers of timers, ticks of the warm-up, checksums. With a million timers the warm-up of delays
 * of an hour and more is as long as there is patience for; else it is the longest delay, or twice
 * that. */
#define SIZES(...) ((const struct frozen[]){__VA_ARGS__, {0}})

/* A row: the stream, its sizes and hooks, and the unit of ns_per_op. The arguments after them are
 * where it differs from idle-reset. */
#define ROW(stream, sizes, from, measure_hook, unit, ...)                                          \
    {                                                                                              \
        .text = {.name = STANDARD "." stream,                                                      \
                 .what = stream ", frozen: each timer in or next to a record of 64 bytes",         \
                 .why = "one figure to compare with published ones",                               \
                 .per = unit},                                                                     \
        .standard = STANDARD, .frozen = sizes,                                                     \
        .plain = {{AXIS_RECORD, RECORD_LINE_BYTES}, {AXIS_NODE, NODE_ABLE}, __VA_ARGS__},          \
        .source = from, .plan = streams_plan, .measure = measure_hook                              \
    }

const struct suite suites_standard[] = {
    ROW("idle-reset",
        SIZES({10000, 120000, UINT64_C(0xC28E73A3A58F1A53)},
              {100000, 120000, UINT64_C(0xAA32254645A41BA4)},
              {1000000, 120000, UINT64_C(0x0CB7EAC7B96149B5)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_IDLE}),
    ROW("fill-drain",
        SIZES({10000, 0, UINT64_C(0x290DADA95EA57959)}, {100000, 0, UINT64_C(0x97B8F7C9104D4DBC)},
              {1000000, 0, UINT64_C(0x3DC5DE070D8EC1E7)}),
        STREAMS_FILL, streams_measure_fill, "timer", {AXIS_DELAYS, DELAYS_MINUTE},
        {AXIS_ORDER, STREAM_FORWARD}),
    ROW("burst",
        SIZES({10000, 0, UINT64_C(0x315E02ADB4031280)}, {100000, 0, UINT64_C(0x157741BC09BEFE97)},
              {1000000, 0, UINT64_C(0x411BA1F96081F1D8)}),
        STREAMS_FILL, streams_measure_fill, "timer", {AXIS_DELAYS, DELAYS_CONST}),
    ROW("hold",
        SIZES({10000, 120000, UINT64_C(0x51401667CF629FF7)},
              {100000, 120000, UINT64_C(0x10F94DD880CA1501)},
              {1000000, 120000, UINT64_C(0x44C9C5D66DFA2182)}),
        STREAMS_RESTARTS, streams_measure_steady, "expiry with its start",
        {AXIS_DELAYS, DELAYS_EXP6}, {AXIS_CALLBACK, CALLBACK_RESTART}, {AXIS_EVERY, 0}),
    ROW("mixed-server",
        SIZES({10000, 120000, UINT64_C(0xCA1B57D945059E22)},
              {100000, 120000, UINT64_C(0x02A9DB09DBB4D48A)},
              {1000000, 120000, UINT64_C(0x1EBEE1DCC18321F9)}),
        STREAMS_REQUESTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_IDLE}),
    ROW("exponential",
        SIZES({10000, 600000, UINT64_C(0xD9C73C48B48C8D5E)},
              {100000, 600000, UINT64_C(0x07B1F039B3C43D19)},
              {1000000, 300000, UINT64_C(0x6E89B9151640F58E)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_EXP30},
        {AXIS_CALLBACK, CALLBACK_RESTART}),
    ROW("bimodal",
        SIZES({10000, 7200000, UINT64_C(0xED58A38484847559)},
              {100000, 7200000, UINT64_C(0x7E08082ECED9AC2D)},
              {1000000, 600000, UINT64_C(0x412214D6446A121A)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_BIMODAL},
        {AXIS_CALLBACK, CALLBACK_RESTART}),
    ROW("uniform",
        SIZES({10000, 7200000, UINT64_C(0xD73300C160FD628F)},
              {100000, 3600000, UINT64_C(0xE40A86D50CE99CBB)},
              {1000000, 600000, UINT64_C(0x2116F6D43DC0D77A)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_HOUR},
        {AXIS_CALLBACK, CALLBACK_RESTART}),
    ROW("const",
        SIZES({10000, 120000, UINT64_C(0x16DEDFEBEE17782B)},
              {100000, 120000, UINT64_C(0xB7719C8AD1623CF1)},
              {1000000, 120000, UINT64_C(0x1D95D1E687D20C62)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_CONST},
        {AXIS_CALLBACK, CALLBACK_RESTART}),
    ROW("saw",
        SIZES({10000, 120000, UINT64_C(0xCB36688A33780748)},
              {100000, 120000, UINT64_C(0xF23869700D45798B)},
              {1000000, 120000, UINT64_C(0xBA8EEF5CC270FCF7)}),
        STREAMS_RESTARTS, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_SAW},
        {AXIS_EVERY, 1000}),
    ROW("recorded",
        SIZES({10000, 75001, UINT64_C(0x20D4BB0F0A604B51)},
              {100000, 75001, UINT64_C(0x860D1AB4B498D272)},
              {1000000, 15052, UINT64_C(0xDF338D9C5C315915)}),
        STREAMS_RECORDING, streams_measure_steady, "operation", {AXIS_DELAYS, DELAYS_RECORDED},
        {AXIS_EVERY, 0}),
    {.text = {.name = NULL}},
};
