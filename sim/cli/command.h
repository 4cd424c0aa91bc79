/*
 * command.h: the subcommands of `timerlab`. One table in main.c lists them. Each is a function in a
 * file of its own, which gets the arguments after its name and returns the exit status.
 */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "command_option.h"

/* argv[0] is the command's full name, such as "timerlab sim"; argv[argc] is NULL. */
typedef int (*command_fn)(int argc, char **argv);

/* One row of a table of commands: a function, or a table of its own. */
struct command {
    const char *name; /* NULL ends the table */
    const char *summary;
    command_fn run;
    const struct command *below;
};

/* Run the row that argv[1] names, with argv[0] extended by it. Without a name, or with --help,
 * print the table; for an unknown name suggest the nearest one, also of the tables below. `program`
 * is the name before it. */
int command_dispatch(const char *program, const struct command *table, int argc, char **argv);

int command_list(int argc, char **argv);
int command_describe(int argc, char **argv);
extern const struct command trace_commands[];
int command_trace_gen(int argc, char **argv);
int command_trace_import(int argc, char **argv);
int command_trace_scale(int argc, char **argv);
int command_record(int argc, char **argv);
int command_sim(int argc, char **argv);

/* The same as one of several processes, which `post` brings together; NULL: there is this one. */
struct rank_post;
int command_sim_by(struct rank_post *post, int argc, char **argv);

int command_show(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_predict(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_live(int argc, char **argv);
int command_threads(int argc, char **argv);
int command_cluster_check(int argc, char **argv);
int command_cluster_sim(int argc, char **argv);
int command_cluster_run(int argc, char **argv);
int command_new(int argc, char **argv);
int command_export(int argc, char **argv);
int command_check(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_report(int argc, char **argv);

#endif
