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

typedef bool drive_reader(struct replay_drive *drive, const char *name, const char *text,
                          struct error *error);

static void take_drive(void *arguments, const struct option_row *row, const char *text,
                       struct argp_state *state, drive_reader *read)
{
    char option[64];
    struct error error;
    (void)snprintf(option, sizeof option, "--%s", row->option.name);
    if (!read((struct replay_drive *)(void *)((char *)arguments + row->at), option, text, &error)) {
        argp_error(state, "%s", error.text);
    }
}

void command_take_drive(void *arguments, const struct option_row *row, const char *text,
                        struct argp_state *state)
{
    take_drive(arguments, row, text, state, drive_read);
}

void command_take_budget(void *arguments, const struct option_row *row, const char *text,
                         struct argp_state *state)
{
    take_drive(arguments, row, text, state, drive_read_budget);
}

void command_take_pauses(void *arguments, const struct option_row *row, const char *text,
                         struct argp_state *state)
{
    take_drive(arguments, row, text, state, drive_read_pauses);
}

void command_take_service(void *arguments, const struct option_row *row, const char *text,
                          struct argp_state *state)
{
    take_drive(arguments, row, text, state, drive_read_service);
}
