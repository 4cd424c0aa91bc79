/*
 * exported-class: exported timers in C++.
 *
 *     timerlab export hier-wheel --prefix timers --cpp -o timers
 *     cc -O2 -c -Itimers timers/timers.c -o timers.o
 *     c++ -std=c++17 -O2 -Itimers exported-class.cc timers.o -o exported-class
 */
#include "timers.hpp"
#include <cstdio>

int main()
{
    timers::timers t;
    if (t.create(1000, 0, 1000) != TIMERS_OK || t.start(7, 30) != TIMERS_OK) {
        return 1;
    }
    t.advance(1000, [](uint32_t id, uint64_t) { std::printf("%u expires\n", unsigned{id}); });
}
