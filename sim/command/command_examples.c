#include "command_examples.h"

#include <stddef.h>
#include <string.h>

/* In an order in which later examples can use the output of earlier ones. The tests run them. */
static const struct {
    const char *command;
    const char *lines;
} examples[] = {
    {"timerlab list", "  timerlab list\n"},
    {"timerlab describe", "  timerlab describe hier-wheel\n"},
    {"timerlab show", "  timerlab show hier-wheel:slots=3 'start a 2; start b 4; advance 3'\n"},
    {"timerlab record", "  timerlab record -o my.rec -- memcached -p 21211\n"},
    {"timerlab trace gen", "  timerlab trace gen server -n 100k --seconds 10 -o my.trace\n"
                           "  timerlab trace gen rpc -n 10k -o - | timerlab trace info -\n"},
    {"timerlab trace import",
     "  timerlab trace import ftrace my.txt.zst -o kernel.trace\n"
     "  timerlab trace import access-log access.log --idle 60 -o web.trace\n"},
    {"timerlab trace scale", "  timerlab trace scale my.trace -n 1m -o million.trace\n"},
    {"timerlab trace info", "  timerlab trace info my.trace --plot pictures\n"},
    {"timerlab trace head", "  timerlab trace head my.trace -n 20\n"},
    {"timerlab trace dump", "  timerlab trace dump my.trace >my.csv\n"},
    {"timerlab trace validate", "  timerlab trace validate my.trace\n"},
    {"timerlab sim", "  timerlab sim my.trace -a all --latency -o results/mine\n"
                     "  timerlab sim my.trace kernel.trace -a binary-heap,hier-wheel\n"},
    {"timerlab-mpi sim", "  mpirun -n 4 timerlab-mpi sim my.trace -a hier-wheel\n"},
    {"timerlab sweep", "  timerlab sweep rpc -a binary-heap,hier-wheel -n 1k,10k -o swept\n"},
    {"timerlab compare", "  timerlab compare --by algo --base hier-wheel results/mine\n"
                         "  timerlab compare results/before results/after\n"},
    {"timerlab tune", "  timerlab tune my.trace --max-lateness 5ms --max-bytes 64MB\n"},
    {"timerlab export", "  timerlab export hier-wheel --prefix timers -o src\n"},
    {"timerlab predict", "  timerlab predict ftrace my.txt.zst\n"},
    {"timerlab live", "  timerlab live -a binary-heap,hier-wheel -n 1k --rate 200 --timeout 5\n"},
    {"timerlab threads",
     "  timerlab threads -a 'locked(hier-wheel),sharded(hier-wheel)' --threads 2\n"},
    {"timerlab cluster check", "  timerlab cluster check lease\n"},
    {"timerlab cluster sim", "  timerlab cluster sim lease -o cluster\n"},
    {"timerlab cluster run", "  timerlab cluster run lease --kills 20 -o killed\n"},
    {"timerlab new", "  timerlab new my-wheel -o my\n"},
    {"timerlab check", "  timerlab check -a hier-wheel:slots=3 --seconds 5\n"},
    {"timerlab-bench", "  timerlab-bench -n 10k --benchmark_filter=^hold/.*heap --plain-rows\n"
                       "  timerlab-bench -n 1k,1m --benchmark_filter=^restart/.*heap/\n"},
    {"timerlab report", "  timerlab report results/mine\n"},
};

const char *command_examples(const char *command)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (strcmp(examples[i].command, command) == 0) {
            return examples[i].lines;
        }
    }
    return NULL;
}
