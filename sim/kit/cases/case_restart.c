/* Cases: a start moves a timer that is pending. */
#include "kit_cases.h"
#include "kit_script.h"

enum relation { EARLIER, LATER, SAME };

static void restarts(struct kit_run *run, enum relation relation)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 3, 0)) {
        return;
    }
    for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
        for (size_t j = 0; j < SCRIPT_DELAYS; j += relation == SAME ? SCRIPT_DELAYS : 1) {
            uint64_t first = script_delays[i];
            uint64_t second = relation == SAME ? first : script_delays[j];
            if ((relation == EARLIER && second >= first) ||
                (relation == LATER && second <= first)) {
                continue;
            }
            /* A neighbour with the old deadline, and at times one with the new. */
            script_start(&subject, 0, first);
            script_start(&subject, 1, first);
            if ((i + j) % 3 == 0) {
                script_start(&subject, 2, second);
            }
            uint64_t until = first / 2;
            uint64_t deadline = subject.clock + second;
            if (j % 2 == 1 && until > 0 && until < second) {
                script_advance(&subject, subject.clock + until);
            }
            (void)subject_start(&subject, 1, deadline);
            (void)subject_start(&subject, 1, deadline);
            script_settle(&subject);
        }
    }
    script_close(&subject);
}

void case_restart_earlier(struct kit_run *run)
{
    restarts(run, EARLIER);
}

void case_restart_later(struct kit_run *run)
{
    restarts(run, LATER);
}

void case_restart_same(struct kit_run *run)
{
    restarts(run, SAME);
}

void case_restart_heartbeat(struct kit_run *run)
{
    /* A connection's idle timer: pushed back at every request, and at last let go. */
    static const uint64_t timeouts[] = {2, 30, 64, 600, 5000};
    for (size_t i = 0; i < LENGTH(timeouts); i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 2, 77)) {
            return;
        }
        uint64_t random = i;
        for (unsigned beat = 0; beat < 300; beat++) {
            script_start(&subject, 0, timeouts[i]);
            if (beat % 3 == 0) {
                script_start(&subject, 1, timeouts[i]);
            }
            script_advance(&subject, subject.clock + kit_random(&random) % timeouts[i]);
        }
        script_settle(&subject);
        script_close(&subject);
    }
}
