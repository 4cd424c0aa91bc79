/* Fuzzing target: scenario files. Accepted values must be in the range of every workload and
 * parameter; a refusal must have a reason. */
#include "scenario.h"
#include "fuzz.h"
#include "registry.h"

#include <string.h>

static void check_part(const struct gen_part *part)
{
    FUZZ_REQUIRE(part->workload != NULL);
    FUZZ_REQUIRE(part->connections >= 1 && part->connections <= part->workload->max_connections);
    for (size_t i = 0; part->workload->parameters[i].name != NULL; i++) {
        const struct tl_option *row = &part->workload->parameters[i];
        double value = part->parameters[i];
        if (row->choices != NULL) {
            FUZZ_REQUIRE(value >= 0 && value == (double)(uint64_t)value &&
                         tl_option_accepts(row, (uint64_t)value));
        } else {
            FUZZ_REQUIRE(value >= row->min && value <= row->max);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario scenario;
    struct error error = {{0}};
    const char *path = fuzz_file(data, size);
    if (scenario_read(path, &scenario, &error)) {
        FUZZ_REQUIRE(scenario.part_count > 0);
        FUZZ_REQUIRE(scenario.seconds > 0);
        FUZZ_REQUIRE(scenario.seed <= INT64_MAX);
        for (size_t i = 0; i < scenario.part_count; i++) {
            check_part(&scenario.parts[i]);
            FUZZ_REQUIRE(scenario.parts[i].parameters[GEN_TICK_US] ==
                         scenario.parts[0].parameters[GEN_TICK_US]);
        }
        scenario_free(&scenario);
    } else {
        FUZZ_REQUIRE(strncmp(error.text, path, strlen(path)) == 0);
        FUZZ_REQUIRE(scenario.parts == NULL);
    }
    return 0;
}
