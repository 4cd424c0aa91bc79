#include "measured.h"

const char *measured_time_word(enum measured_time time)
{
    static const char *const words[] = {
#define TIME_WORD(code, word, text) [code] = (word),
        MEASURED_TIME_MAP(TIME_WORD)
#undef TIME_WORD
    };
    return words[time];
}

/* Between two points, and where in the list those begin. */
static const struct {
    double from;
    double step;
    int first;
} scales[] = {{0, 0.01, 0}, {0.99, 0.001, 99}, {0.999, 0.0001, 108}};
enum { SCALES = sizeof scales / sizeof scales[0] };

static int scale_of_point(int point)
{
    int scale = SCALES - 1;
    while (point < scales[scale].first) {
        scale--;
    }
    return scale;
}

void measured_sum_up(const struct histogram *us, struct measured_quantiles *quantiles)
{
    quantiles->known = us->total > 0;
    for (int point = 0; point < MEASURED_POINTS; point++) {
        int scale = scale_of_point(point);
        double share = scales[scale].from + (point - scales[scale].first) * scales[scale].step;
        quantiles->ms[point] =
            (double)histogram_quantile(us, point == MEASURED_POINTS - 1 ? 1 : share) / 1e3;
    }
}

double measured_at(const struct measured_quantiles *quantiles, double share)
{
    int scale = SCALES - 1;
    while (share < scales[scale].from) {
        scale--;
    }
    double steps = (share - scales[scale].from) / scales[scale].step;
    int whole = (int)steps;
    int point = scales[scale].first + whole;
    double low = quantiles->ms[point];
    return point == MEASURED_POINTS - 1 ? low
                                        : low + (steps - whole) * (quantiles->ms[point + 1] - low);
}

enum measured_time measured_as(enum cluster_step step)
{
    switch (step) {
    case CLUSTER_CLAIM:
    case CLUSTER_CLAIM_PART:
    case CLUSTER_CLAIM_OWN:
    case CLUSTER_LOAD:
        return TIME_CLAIM;
    case CLUSTER_TAKE:
    case CLUSTER_LEASE:
        return TIME_TAKE;
    case CLUSTER_CALL:
        return TIME_CALL;
    case CLUSTER_DELETE:
    case CLUSTER_ACK:
        return TIME_ACK;
    default:
        return MEASURED_TIMES;
    }
}
