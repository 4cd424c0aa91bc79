/*
 * timer_record.h: the file of a process's own timer calls: a header and records of fixed size.
 * Every recorded process maps it; each call claims the next record by adding to a shared counter,
 * so that threads and forked processes write into one file, in the order of their calls, without a
 * lock, and nothing is lost when a process is killed.
 *
 * Numbers are in the machine's byte order.
 */
#ifndef SIM_TIMER_RECORD_H
#define SIM_TIMER_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#define TIMER_RECORD_MAGIC        "TLTIMER\n"
#define TIMER_RECORD_MAGIC_BYTES  8u
#define TIMER_RECORD_VERSION      2u
#define TIMER_RECORD_HEADER_BYTES 4096u

/* Space on the disk is allocated for this many records at a time. */
#define TIMER_RECORD_STEP         (UINT64_C(1) << 16)
/* Limited by the address space in every process: 5 GiB. */
#define TIMER_RECORDS_MAX         (UINT64_C(1) << 27)

/* The environment variable with the recorder's output file. */
#define TIMER_RECORD_ENVIRONMENT  "TIMERLAB_RECORD"

enum timer_record_library {
    TIMER_RECORD_LIBEVENT = 1,
    TIMER_RECORD_LIBEV,
    TIMER_RECORD_LIBUV,
    TIMER_RECORD_EXPORTED, /* `timerlab export`: `timer` is made of the structure and the id */
    TIMER_RECORD_LIBRARIES
};

enum timer_record_op {
    TIMER_RECORD_NOTHING, /* claimed, but not filled in: the process was killed */
    TIMER_RECORD_START,   /* delay_ns from then on */
    TIMER_RECORD_STOP,
    TIMER_RECORD_FIRE, /* due; or, with libevent, its event came before its timeout */
    TIMER_RECORD_INIT, /* the memory becomes another timer; not with libev */
};

/* Flags of an expiry: the library starts the timer again (libev: after the expiry's delay); and the
 * event was the timeout's, not a descriptor's. */
#define TIMER_RECORD_REPEATS 1u
#define TIMER_RECORD_TIMEOUT 2u

struct timer_record {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t timer;   /* its address; unique within the process and library */
    uint64_t delay_ns;
    uint64_t cause; /* the timer, of the same library, with the callback that makes the call; 0:
                       none */
    uint32_t process;
    uint8_t library;
    uint8_t flags;
    uint8_t reserved;
    _Atomic uint8_t op; /* written last */
};

_Static_assert(sizeof(struct timer_record) == 40, "records are of fixed size");

struct timer_record_header {
    char magic[TIMER_RECORD_MAGIC_BYTES];
    uint32_t version;
    uint32_t record_bytes;
    _Atomic uint64_t claimed; /* records; those beyond `room` were lost */
    _Atomic uint64_t room;    /* records with space on the disk */
    _Atomic uint32_t closed;  /* no more records are taken */
    _Atomic int32_t failed;   /* errno of the first failure to allocate space; 0: none */
};

#endif
