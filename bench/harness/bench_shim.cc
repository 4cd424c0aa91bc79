// The only C++ in the project: Google Benchmark, used through bench_shim.h.
#include "bench_shim.h"

extern "C" {
#include "memory.h"
#include "standard_files.h"
#include "statistics.h"
}

#include "registry.h"
#include "timerlab.h"

#include <benchmark/benchmark.h>
#include <regex.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

// The contract is promised to C++17 as well: a plug-in may be written in it.
static_assert(std::is_standard_layout_v<tl_algo> && std::is_trivially_copyable_v<tl_algo>,
              "a descriptor is plain data in C++ too");
static_assert(std::is_same_v<decltype(tl_config::allocator), const tl_allocator *>,
              "the contract means the same in both languages");

namespace
{

// Before the library's own beginning needs memory.
__attribute__((constructor(101))) void end_without_memory()
{
    std::set_new_handler(memory_end);
}

int usage_status = EXIT_FAILURE;

// The library's filter, by the same rules.
struct {
    regex_t pattern;
    bool given;
    bool negative;
} filter = {};

bool compile_filter()
{
    const std::string text = benchmark::GetBenchmarkFilter();
    filter.given = !text.empty() && text != "all";
    filter.negative = filter.given && text[0] == '-';
    const int status = filter.given
                           ? regcomp(&filter.pattern, text.c_str() + (filter.negative ? 1 : 0),
                                     REG_EXTENDED | REG_NOSUB)
                           : 0;
    if (status == REG_ESPACE) {
        memory_end();
    }
    if (status != 0) {
        char why[128];
        (void)regerror(status, &filter.pattern, why, sizeof why);
        standard_files_tell("%s: --benchmark_filter=%s: %s\n", program_invocation_short_name,
                            text.c_str(), why);
    }
    return status == 0;
}

void measure(benchmark::State &state, bench_fn fn, void *arg)
{
    bench_measured measured = {};
    while (state.KeepRunning()) {
        measured = {};
        const char *error = fn(arg, &measured);
        if (error != nullptr) {
            state.SkipWithError(error);
            return;
        }
        state.SetIterationTime(static_cast<double>(measured.elapsed_ns) * 1e-9);
    }
    state.SetItemsProcessed(static_cast<int64_t>(measured.operations));
    state.counters["ns_per_op"] =
        static_cast<double>(measured.elapsed_ns) / static_cast<double>(measured.operations);
    state.counters["bytes_per_timer"] = measured.bytes_per_timer;
    state.counters["batches"] = static_cast<double>(measured.batches);
    for (size_t i = 0; i < measured.counter_count; i++) {
        state.counters[measured.counters[i].name] = measured.counters[i].value;
    }
    if (measured.label != nullptr) {
        state.SetLabel(measured.label);
    }
}

double median_absolute_deviation(const std::vector<double> &values)
{
    return values.empty() ? 0 : stats_mad(values.data(), values.size());
}

// Google Benchmark calls its help printer, and then exits with 0, where a flag's word is wrong.
// Help that was asked for never comes this way.
void refuse_flag()
{
    standard_files_tell("%s: a --benchmark_ flag has a value that it does not take; --help shows "
                        "all\n",
                        program_invocation_short_name);
    std::exit(usage_status);
}

} // namespace

bool bench_selects(const char *name)
{
    const std::string full_name = std::string(name) + "/manual_time";
    if (!filter.given) {
        return true;
    }
    errno = 0; /* regexec reports "no memory" as "no match", but sets it */
    bool found = regexec(&filter.pattern, full_name.c_str(), 0, nullptr, 0) == 0;
    (void)memory_unless_short(found ? &found : nullptr);
    return found != filter.negative;
}

void bench_register(const char *name, bench_fn fn, void *arg)
{
    // The library owns the benchmark.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    benchmark::RegisterBenchmark(name, measure, fn, arg)
        ->UseManualTime()
        ->ComputeStatistics("mad", median_absolute_deviation);
}

void bench_context(const char *key, const char *value)
{
    benchmark::AddCustomContext(key, value);
}

bool bench_initialize(int *argc, char **argv, uint64_t repetitions, int exit_usage)
{
    usage_status = exit_usage;
    benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
    // One call of a benchmark is one measurement: without a minimum time the library adds none.
    char program[] = "timerlab-bench";
    char no_minimum[] = "--benchmark_min_time=0";
    std::string repeated = "--benchmark_repetitions=" + std::to_string(repetitions);
    char interleaved[] = "--benchmark_enable_random_interleaving=true";
    // https://no-color.org
    const char *no_colour = std::getenv("NO_COLOR");
    char colour[] = "--benchmark_color=auto";
    char no[] = "--benchmark_color=false";
    bool plain = no_colour != nullptr && no_colour[0] != '\0';
    char *defaults[] = {program,     no_minimum,          repeated.data(),
                        interleaved, plain ? no : colour, nullptr};
    int default_count = 5;
    benchmark::Initialize(&default_count, defaults, refuse_flag);
    for (int i = 1; i < *argc; i++) {
        if (std::strncmp(argv[i], "--benchmark_out", 15) == 0) {
            standard_files_tell("%s: %s: the library does not report errors of its file; use "
                                "--benchmark_format=json and standard output\n",
                                program_invocation_short_name, argv[i]);
            return false;
        }
    }
    benchmark::Initialize(argc, argv, refuse_flag);
    if (*argc > 1) {
        standard_files_tell("%s: unrecognized option '%s'; --help shows all\n",
                            program_invocation_short_name, argv[1]);
        return false;
    }
    return compile_filter();
}

bool bench_has_filter(void)
{
    return filter.given;
}

void bench_run(void)
{
    (void)benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
