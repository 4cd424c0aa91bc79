/*
 * The same small instance in Promela, for Spin. What stands before this file is made from a row of
 * the table of protocols: SCHEDULE_0 .. and EXECUTE_0 .., its steps; SCHEDULES and EXECUTES, how
 * many; LEASES, SCANNED and LATER_FOLLOWS. How often what may go wrong is in the environment.
 *
 * Written apart from check.c, so that the two can be held against one another. Each option of a
 * `do` is one atomic step: its guard, then what it does. Where nothing can be done any more the
 * monitor says how it ended.
 */
#define TIMERS     2
#define LAST       2
#define NOBODY     255

#define ABSENT     0
#define PENDING    1
#define READY      3
#define FLIGHT     4
#define GONE       5

byte wall = 0;  /* second on the clock on the wall */
byte clock = 0; /* the next second to be fetched */
byte scan = 0;
byte crashes = 0, outruns = 0, laters = 0;
byte crashes_max = 0, outruns_max = 0, laters_max = 0;
bit late_allowed = 0, scan_allowed = 0;

byte record[TIMERS], stage[TIMERS], queued[TIMERS], token[TIMERS], calls[TIMERS], acks[TIMERS];
bit late[TIMERS];

byte s_step[2], s_second[2], s_held[2]; /* held: timers, as 1 and 2 */
bit s_scanning[2];
byte e_step[2], e_timer[2], e_token[2];
bit over = 0;

#define DEADLINE(i)  (1 + (i))
#define BIT(i)       (1 << (i))
#define IS(set, i)   (((set) >> (i)) & 1)
#define STAGE(i, to) if :: stage[i] < (to) -> stage[i] = (to) :: else fi
#define HAS(e, i)                                                                                  \
    (e_step[e] > 0 && e_timer[e] == (i) && (!LEASES || e_token[e] == token[i]))
#define ABANDONED(i)                                                                               \
    (queued[i] == 0 && !IS(s_held[0], i) && !IS(s_held[1], i) && !HAS(0, i) && !HAS(1, i))
#define DUE(i)       (record[i] == PENDING && DEADLINE(i) <= wall)
#define ANY_DUE      (DUE(0) || DUE(1))

#ifdef TRAIL
#define SAY(who, n, what, which) printf("STEP %d %d %d %d %d\n", who, n, what, which, wall)
#else
#define SAY(who, n, what, which) skip
#endif

/* The timers that a step finds, or has in hand; for sequences of steps. */
#define OF_SECOND(i, of)  (record[i] == PENDING && DEADLINE(i) == (of))
#define BUCKET(of)        (OF_SECOND(0, of) + 2 * OF_SECOND(1, of))
#define TOUCHED(s, what)                                                                           \
    ((what) == FETCH -> BUCKET(s_second[s])          \
     : (TAKES_DUE(what) -> DUE(0) + 2 * DUE(1) : s_held[s]))
#define TAKES_DUE(what) ((what) == CLAIM)

inline set_held(s)
{
    s_held[s] = (DUE(0) -> 1 : 0) + (DUE(1) -> 2 : 0)
}

inline mark(set, as)
{
    if :: IS(set, 0) -> record[0] = as; STAGE(0, 1) :: else fi;
    if :: IS(set, 1) -> record[1] = as; STAGE(1, 1) :: else fi
}

inline enqueue(set)
{
    if :: IS(set, 0) -> queued[0]++; STAGE(0, 2) :: else fi;
    if :: IS(set, 1) -> queued[1]++; STAGE(1, 2) :: else fi
}

inline schedule_next(s, last)
{
    if
    :: last ->
        if :: s_scanning[s] && s_second[s] == scan -> scan++ :: else fi;
        s_step[s] = 0; s_second[s] = 0; s_held[s] = 0; s_scanning[s] = 0
    :: else -> s_step[s]++
    fi
}

/* The parts of a scheduler's step: whether it can be done, and what it does. */
#define CAN_MOVE_CLOCK(s) (clock <= wall)
#define CAN_CLAIM(s)      ANY_DUE

inline do_step(s, what, last)
{
    if
    :: what == MOVE_CLOCK -> s_second[s] = clock; clock++; schedule_next(s, last)
    :: what == FETCH ->
        s_held[s] = BUCKET(s_second[s]);
        schedule_next(s, last || s_held[s] == 0)
    :: what == REMOVE -> mark(s_held[s], GONE); schedule_next(s, last)
    :: what == PUSH -> enqueue(s_held[s]); s_held[s] = 0; schedule_next(s, last)
    :: what == CLAIM ->
        set_held(s); mark(s_held[s], READY); enqueue(s_held[s]); s_held[s] = 0;
        schedule_next(s, last)
    fi
}

#define CAN(what, s)                                                                               \
    (((what) != MOVE_CLOCK || CAN_MOVE_CLOCK(s)) && ((what) != CLAIM || CAN_CLAIM(s)))

#define SCHEDULE_OPTION(s, k, what)                                                                \
    :: d_step {                                                                                    \
        !over && s_step[s] == (k) && CAN(what, s) ->                               \
        SAY(0, s, what, TOUCHED(s, what));                                                         \
        do_step(s, what, (k) == SCHEDULES - 1)                                                     \
    }

#define CAN_SCAN(s)                                                                                \
    (!over && SCANNED && scan_allowed && s_step[s] == 0 && !s_scanning[0] && !s_scanning[1])
#define LEFT_BEHIND(i) (record[i] == PENDING && DEADLINE(i) < scan && ABANDONED(i))
#define BEGIN_SCAN(s, of)                                                                          \
    SAY(0, s, SCAN, 0);                                                                            \
    s_second[s] = (of);                                                                            \
    s_step[s] = 1;                                                                                 \
    s_scanning[s] = 1

#define CRASH_SCHEDULER(s)                                                                         \
    :: d_step {                                                                                    \
        !over && crashes < crashes_max && s_step[s] > 0 ->                                                                                        \
        SAY(0, s, CRASH, s_held[s]);                                                               \
        crashes++;                                                                                 \
        s_step[s] = 0; s_second[s] = 0; s_held[s] = 0; s_scanning[s] = 0                           \
    }

proctype scheduler(byte s)
{
    do
    SCHEDULE_OPTION(s, 0, SCHEDULE_0)
#if SCHEDULES > 1
    SCHEDULE_OPTION(s, 1, SCHEDULE_1)
#endif
#if SCHEDULES > 2
    SCHEDULE_OPTION(s, 2, SCHEDULE_2)
#endif
#if SCHEDULES > 3
    SCHEDULE_OPTION(s, 3, SCHEDULE_3)
#endif
#if SCHEDULES > 4
    SCHEDULE_OPTION(s, 4, SCHEDULE_4)
#endif
    :: d_step {
        CAN_SCAN(s) && scan < clock && !(record[0] == ABSENT && DEADLINE(0) <= scan) &&
            !(record[1] == ABSENT && DEADLINE(1) <= scan) ->
        BEGIN_SCAN(s, scan)
    }
    :: d_step { CAN_SCAN(s) && LEFT_BEHIND(0) -> BEGIN_SCAN(s, DEADLINE(0)) }
    :: d_step { CAN_SCAN(s) && LEFT_BEHIND(1) -> BEGIN_SCAN(s, DEADLINE(1)) }
    CRASH_SCHEDULER(s)
    :: over -> break
    od
}

#define TAKE_OPTION(e, i)                                                                          \
    :: d_step {                                                                                    \
        !over && e_step[e] == 0 && queued[i] > 0 ->                                                \
        SAY(1, e, EXECUTE_0, BIT(i));                                                              \
        queued[i]--;                                                                               \
        if                                                                                         \
        :: EXECUTE_0 == TAKE || record[i] == READY ->                                              \
            e_step[e] = 1; e_timer[e] = (i); STAGE(i, 3);                                          \
            if                                                                                     \
            :: EXECUTE_0 == LEASE_STEP -> record[i] = FLIGHT; token[i]++; e_token[e] = token[i]    \
            :: else                                                                                \
            fi                                                                                     \
        :: else                                                                                    \
        fi                                                                                         \
    }

#define END_TIMER(i) record[i] = GONE; acks[i]++; STAGE(i, 5)
#define EXECUTE_OPTION(e, k, what)                                                                 \
    :: d_step {                                                                                    \
        !over && e_step[e] == (k) ->                                                               \
        SAY(1, e, what, BIT(e_timer[e]));                                                          \
        if                                                                                         \
        :: (what) == CALL -> calls[e_timer[e]]++; STAGE(e_timer[e], 4)                             \
        :: (what) == ACK ->                                                                        \
            if                                                                                     \
            :: record[e_timer[e]] == FLIGHT && token[e_timer[e]] == e_token[e] ->                  \
                END_TIMER(e_timer[e])                                                              \
            :: else                                                                                \
            fi                                                                                     \
        :: (what) == DELETE ->                                                                     \
            if :: record[e_timer[e]] != GONE -> END_TIMER(e_timer[e]) :: else fi                   \
        :: (what) == LATER ->                                                                      \
            if                                                                                     \
            :: record[e_timer[e]] == FLIGHT && token[e_timer[e]] == e_token[e] ->                  \
                record[e_timer[e]] = PENDING                                                       \
            :: else                                                                                \
            fi                                                                                     \
        fi;                                                                                        \
        if                                                                                         \
        :: (what) == CALL && (k) + 1 < EXECUTES && LATER_FOLLOWS -> e_step[e] = (k) + 2             \
        :: (k) == EXECUTES - 1 || (what) == LATER -> e_step[e] = 0; e_timer[e] = 0; e_token[e] = 0                    \
        :: else -> e_step[e]++                                                                     \
        fi                                                                                         \
    }

/* The service does not do it, and asks to be called later. */
#define ASK_LATER_OPTION(e, k, what)                                                               \
    :: d_step {                                                                                    \
        !over && e_step[e] == (k) && (what) == CALL && LATER_FOLLOWS && laters < laters_max ->     \
        SAY(1, e, ASK_LATER, BIT(e_timer[e]));                                                     \
        laters++;                                                                                  \
        e_step[e] = (k) + 1                                                                        \
    }

proctype executor(byte e)
{
    do
    ASK_LATER_OPTION(e, 1, EXECUTE_1)
    TAKE_OPTION(e, 0)
    TAKE_OPTION(e, 1)
    EXECUTE_OPTION(e, 1, EXECUTE_1)
#if EXECUTES > 2
    EXECUTE_OPTION(e, 2, EXECUTE_2)
#endif
#if EXECUTES > 3
    EXECUTE_OPTION(e, 3, EXECUTE_3)
#endif
    :: d_step {
        !over && crashes < crashes_max && e_step[e] > 0 ->
        SAY(1, e, CRASH, BIT(e_timer[e]));
        crashes++;
        e_step[e] = 0; e_timer[e] = 0; e_token[e] = 0
    }
    :: over -> break
    od
}

#define RECOVER_OPTION(i)                                                                          \
    :: d_step {                                                                                    \
        !over && record[i] == FLIGHT && (ABANDONED(i) || outruns < outruns_max) ->                      \
        SAY(2, 0, (ABANDONED(i) -> RECOVER : OUTRUN), BIT(i));                                     \
        outruns = outruns + (ABANDONED(i) -> 0 : 1);                                               \
        queued[i]++;                                                                               \
        record[i] = READY                                                                          \
    }

#define INSERT_OPTION(i)                                                                           \
    :: d_step {                                                                                    \
        !over && record[i] == ABSENT ->                                                            \
        SAY(3, 0, INSERT, BIT(i));                                                                 \
        record[i] = PENDING                                                                        \
    }

/* Nobody passes over a timer's second before it is there, unless it is late. */
#define IN_TIME(i) (record[i] != ABSENT || late[i] || DEADLINE(i) > wall + 1)

proctype world()
{
    do
    RECOVER_OPTION(0)
    RECOVER_OPTION(1)
    INSERT_OPTION(0)
    INSERT_OPTION(1)
    :: d_step {
        !over && late_allowed && record[TIMERS - 1] == ABSENT && !late[TIMERS - 1] ->
        SAY(3, 0, DELAY, BIT(TIMERS - 1));
        late[TIMERS - 1] = 1
    }
    :: d_step {
        !over && wall < LAST && IN_TIME(0) && IN_TIME(1) ->
        wall++;
        SAY(4, 0, TICK, 0)
    }
    :: over -> break
    od
}

/* Nothing that is no fault is left to do: `timeout` alone would wait for faults, too. Faults need
 * somebody who is at work. */
init
{
    atomic {
        c_code {
            now.crashes_max = (uchar)atoi(getenv("CRASHES"));
            now.outruns_max = (uchar)atoi(getenv("OUTRUNS"));
            now.laters_max = (uchar)atoi(getenv("LATERS"));
            now.late_allowed = atoi(getenv("LATE")) != 0;
            now.scan_allowed = atoi(getenv("SCANS")) != 0;
        };
        run scheduler(0);
        run scheduler(1);
        run executor(0);
        run executor(1);
        run world()
    };
    timeout;
#ifdef TRAIL
    assert(calls[0] > 0 && calls[1] > 0)
#else
    c_code {
        printf("END %d %d %d %d %d %d %d %d %d\n", now.stage[0], now.stage[1], now.calls[0],
               now.calls[1], now.acks[0], now.acks[1], now.crashes, now.outruns, now.late[1]);
    };
#endif
}
