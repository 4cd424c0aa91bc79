#include "command_drive.h"

#include <stdio.h>
#include <string.h>

void command_take_tolerance(void *arguments, const struct option_row *row, const char *text,
                            struct argp_state *state)
{
    static const struct tl_number_form ticks = {.kind = TL_NUMBER_WHOLE, .to = UINT64_MAX};
    static const struct tl_number_form time = {.kind = TL_NUMBER_TIME, .most = 1e18};
    struct tolerance tolerance = {0};
    union tl_number number = {0};
    if (tl_number_read(&ticks, text, &number)) {
        tolerance.ticks = number.whole;
    } else if (tl_number_read(&time, text, &number)) {
        tolerance.ns = number.real;
    } else {
        argp_error(state, "--%s takes ticks, as in 5, or a time, as in 5ms, not '%s'",
                   row->option.name, text);
    }
    memcpy((char *)arguments + row->at, &tolerance, sizeof tolerance);
}

void command_take_drive(void *arguments, const struct option_row *row, const char *text,
                        struct argp_state *state)
{
    static const struct {
        const char *option;
        bool (*read)(struct replay_drive *drive, const char *name, const char *text,
                     struct error *error);
    } readers[] = {{"drive", drive_read},
                   {"budget", drive_read_budget},
                   {"service", drive_read_service},
                   {"pause", drive_read_pauses}};
    struct replay_drive *drive = (void *)((char *)arguments + row->at);
    size_t at = 0;
    char option[64];
    struct error error;
    while (strcmp(readers[at].option, row->option.name) != 0) {
        at++;
    }
    (void)snprintf(option, sizeof option, "--%s", row->option.name);
    if (!readers[at].read(drive, option, text, &error)) {
        argp_error(state, "%s", error.text);
    }
}
