/* A program outside the tree, which uses the installed library: every structure fires what it was
 * given, and nothing else. */
#include <timerlab.h>
#include <timerlab/plugin.h>
#include <timerlab/registry.h>

#include <inttypes.h>
#include <stdio.h>

#define TIMERS 1000u

static void count_firing(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    ((unsigned char *)ctx)[id]++;
}

static int drive(const struct tl_algo *algo)
{
    int64_t options[TL_OPTIONS_MAX];
    unsigned char fired[TIMERS] = {0};
    void *self = NULL;
    tl_options_default(algo, options);
    struct tl_config config = {.capacity = TIMERS,
                               .max_delay_ticks = TIMERS,
                               .options = options,
                               .allocator = tl_system_allocator()};
    enum tl_status status = algo->create(&config, &self);
    if (status != TL_OK) {
        return status == TL_ERR_UNAVAILABLE ? 0 : 1;
    }
    for (uint32_t id = 0; id < TIMERS; id++) {
        status = algo->start(self, id, 1 + id);
        if (status != TL_OK) {
            (void)fprintf(stderr, "%s: %s\n", algo->name, tl_status_text(status));
            return 1;
        }
    }
    for (uint32_t id = 0; id < TIMERS; id += 3) {
        (void)algo->stop(self, id);
    }
    uint64_t end = 2 * TIMERS;
    for (uint64_t delay = 1; delay <= TIMERS; delay++) {
        uint64_t last = delay + tl_algo_precision(algo, options, delay).late_ticks;
        end = last > end ? last : end;
    }
    for (uint64_t now = 1; now <= end; now++) {
        (void)algo->advance(self, now, TL_NO_BUDGET, count_firing, fired);
    }
    int wrong = 0;
    for (uint32_t id = 0; id < TIMERS; id++) {
        bool expected = id % 3 != 0 && (algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
        wrong += fired[id] != expected;
    }
    algo->destroy(self);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        wrong += drive(tl_registry_at(i)->timed);
        (void)puts(tl_registry_at(i)->timed->name);
    }
    for (int i = 1; i < argc; i++) {
        char why[1024] = "";
        struct tl_plugin *plugin = tl_plugin_open(argv[i], why, sizeof why);
        if (plugin == NULL) {
            (void)fprintf(stderr, "%s\n", why);
            return 1;
        }
        wrong += drive(tl_plugin_algo(plugin));
        (void)puts(tl_plugin_algo(plugin)->name);
        tl_plugin_close(plugin);
    }
    return wrong != 0;
}
