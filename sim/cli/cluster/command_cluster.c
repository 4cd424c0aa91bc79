/* timerlab cluster: timers that many machines share. */
#include "command.h"

#include <stddef.h>

int command_cluster(int argc, char **argv)
{
    static const struct command commands[] = {
        {"check", "a protocol through all that can happen, in a small instance",
         command_cluster_check},
        {"sim", "protocols as discrete events: lateness, duplicates, losses, cost",
         command_cluster_sim},
        {"run", "a protocol by processes on a real engine, all of which are killed",
         command_cluster_run},
        {NULL, NULL, NULL},
    };
    return command_dispatch(argv[0], commands, argc, argv);
}
