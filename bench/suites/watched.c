#include "watched.h"

#include <stdlib.h>
#include <string.h>

bool begin_stall(struct fixture *fixture, struct stall *stall)
{
    struct row *row = fixture->row;
    if (row->least_ns == NULL) {
        row->least_ns = malloc(ROW_ADVANCES_MAX * sizeof *row->least_ns);
        if (row->least_ns == NULL) {
            return fail(fixture, "no memory for the times of single advances");
        }
        memset(row->least_ns, 0xff, ROW_ADVANCES_MAX * sizeof *row->least_ns);
    }
    *stall = (struct stall){.least_ns = row->least_ns};
    return true;
}

void report_stall(const struct stall *stall, struct bench_measured *out)
{
    uint32_t repeatable_ns = 0;
    for (size_t i = 0; i < stall->advances; i++) {
        repeatable_ns = stall->least_ns[i] > repeatable_ns ? stall->least_ns[i] : repeatable_ns;
    }
    bench_add_counter(out, "watched", (double)stall->advances);
    bench_add_counter(out, "longest_ns", (double)stall->longest_ns);
    bench_add_counter(out, "stall_ns", (double)repeatable_ns);
}
