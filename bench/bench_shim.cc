// The only C++ in the project: Google Benchmark behind bench_shim.h.
#include "bench_shim.h"

#include "registry.h"
#include "timerlab.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

// The contract is promised to C++17 as well: a plug-in may be written in it.
static_assert(std::is_standard_layout_v<tl_algo> && std::is_trivially_copyable_v<tl_algo>,
              "a descriptor is plain data in C++ too");
static_assert(std::is_same_v<decltype(tl_config::allocator), const tl_allocator *>,
              "the contract means the same in both languages");

namespace
{

int usage_status = EXIT_FAILURE;

void measure(benchmark::State &state, bench_fn fn, void *arg)
{
    bench_measured sum = {};
    while (state.KeepRunning()) {
        bench_measured measured = {};
        const char *error = fn(arg, &measured);
        if (error != nullptr) {
            state.SkipWithError(error);
            return;
        }
        state.SetIterationTime(static_cast<double>(measured.elapsed_ns) * 1e-9);
        sum.batches += measured.batches;
        sum.operations += measured.operations;
        sum.elapsed_ns += measured.elapsed_ns;
        sum.bytes_per_timer = measured.bytes_per_timer;
        sum.label = measured.label;
    }
    state.SetItemsProcessed(static_cast<int64_t>(sum.operations));
    state.counters["ns_per_op"] =
        static_cast<double>(sum.elapsed_ns) / static_cast<double>(sum.operations);
    state.counters["bytes_per_timer"] = sum.bytes_per_timer;
    state.counters["batches"] = static_cast<double>(sum.batches);
    if (sum.label != nullptr) {
        state.SetLabel(sum.label);
    }
}

// Google Benchmark calls its help printer, and then exits with 0, where a flag's word is wrong.
// Help that was asked for never comes this way.
void refuse_flag()
{
    (void)std::fprintf(stderr,
                       "timerlab-bench: a --benchmark_ flag has a value that it does not take; "
                       "see timerlab-bench --help\n");
    std::exit(usage_status);
}

} // namespace

void bench_register(const char *name, bench_fn fn, void *arg)
{
    // The library owns what it registers.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    benchmark::RegisterBenchmark(name, measure, fn, arg)->UseManualTime();
}

void bench_context(const char *key, const char *value)
{
    benchmark::AddCustomContext(key, value);
}

bool bench_initialize(int *argc, char **argv, int exit_usage)
{
    usage_status = exit_usage;
    benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
    // One call of a benchmark is one measurement: without a minimum time the library adds none.
    char program[] = "timerlab-bench";
    char no_minimum[] = "--benchmark_min_time=0";
    char *once[] = {program, no_minimum, nullptr};
    int once_count = 2;
    benchmark::Initialize(&once_count, once, refuse_flag);
    benchmark::Initialize(argc, argv, refuse_flag);
    return !benchmark::ReportUnrecognizedArguments(*argc, argv);
}

void bench_print_flags(void)
{
    benchmark::PrintDefaultHelp();
}

size_t bench_run(void)
{
    size_t count = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return count;
}
