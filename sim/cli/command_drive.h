/*
 * command_drive.h: rows of command_option.h for polling policies and for the lateness that a user
 * tolerates.
 */
#ifndef SIM_COMMAND_DRIVE_H
#define SIM_COMMAND_DRIVE_H

#include "command_option.h"
#include "drive.h"
#include "tolerance.h"

#define OPTION_ROW_MAX_LATENESS(type, member)                                                      \
    {                                                                                              \
        OPTION("max-lateness", 0, "TICKS|TIME",                                                    \
               "How late a timer may fire by its structure's promise, in ticks or as in 5ms (0: "  \
               "exact ones are chosen)"),                                                          \
            OPTION_AT(type, member), .take = command_take_tolerance                                \
    }

/* How a loop uses its timers: rows for a struct replay_drive. */
#define OPTION_ROWS_DRIVE(type, member)                                                            \
    {OPTION("drive", 0, "sleep|slack|poll|poll:N",                                                 \
            "Look at the timers when `next` says so (sleep, the default), as late as the slack "   \
            "of all pending timers allows (slack), at every tick, or at every N-th"),              \
     OPTION_AT(type, member), .take = command_take_drive},                                         \
        {OPTION("budget", 0, "K|none",                                                             \
                "Timers that one advance may fire; the rest fire at the next tick, with poll:N "   \
                "too. It bounds an advance, not the rate: for that, use --service (none)"),        \
         OPTION_AT(type, member), .take = command_take_drive},                                     \
        {OPTION("service", 0, "TIME|exp:TIME|none",                                                \
                "Time for which each callback occupies the loop, as in 50us, fixed or "            \
                "exponentially distributed; meanwhile timers and operations wait (none)"),         \
         OPTION_AT(type, member), .take = command_take_drive},                                     \
    {                                                                                              \
        OPTION("pause", 0, "AT:FOR[:busy|asleep][:every=TICKS]",                                   \
               "From tick AT on, the loop is busy for this many ticks, or the machine sleeps; "    \
               "A+B are two pauses (none)"),                                                       \
            OPTION_AT(type, member), .take = command_take_drive                                    \
    }

/* For `take`, of a struct replay_drive: read the part of it that the option is called after. */
void command_take_drive(void *arguments, const struct option_row *row, const char *text,
                        struct argp_state *state);

/* For `take`, of a struct tolerance. */
void command_take_tolerance(void *arguments, const struct option_row *row, const char *text,
                            struct argp_state *state);

#endif
