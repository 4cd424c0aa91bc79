#include "gen_traffic.h"

/* Maximum / minimum of a heavy tail: three powers of ten. */
#define TAIL_RATIO     1000.0

/* Upper bound of the busiest client's share of its capacity. */
#define BUSY_SHARE_MAX 0.5

/* --- hashing --------------------------------------------------------------------------------- */

/* Hash two numbers to 64 bits: splitmix64's finish, twice. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1);
    for (unsigned i = 0; i < 2; i++) {
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
    }
    return z;
}

/* Map bits to a uniform number in (0, 1). */
static double unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* Return a seed for the parameters from `row` on, without using the model's random numbers. Rows
 * count from tick_us. */
static uint64_t derived_seed(const struct gen_model *model, uint64_t row)
{
    struct random copy = model->random;
    return mix(random_bits(&copy), row - GEN_TICK_US);
}

/* --- laws ------------------------------------------------------------------------------------ */

static double power(double base, double exponent)
{
    return random_exp(exponent * random_log(base));
}

/* Return the integral of x^(a-1) from 1 to `ratio`. */
static double power_integral(double ratio, double a)
{
    return a > -1e-9 && a < 1e-9 ? random_log(ratio) : (power(ratio, a) - 1) / a;
}

double gen_whole_mean(double mean_ticks)
{
    return 1 / gen_comes_within(1, mean_ticks);
}

struct gen_law gen_law_make(double mean, double shape, double ratio)
{
    struct gen_law law = {.mean = mean, .shape = shape, .ratio = ratio};
    if (shape > 0) {
        law.least = mean * power_integral(ratio, -shape) / power_integral(ratio, 1 - shape);
    }
    return law;
}

/* Return the u-quantile of the density x^(a-1) from 1 to `ratio`. */
static double power_value(double ratio, double a, double u)
{
    if (a > -1e-9 && a < 1e-9) {
        return power(ratio, u);
    }
    return power(1 + u * (power(ratio, a) - 1), 1 / a);
}

double gen_law_value(const struct gen_law *law, double u)
{
    return law->shape > 0 ? law->least * power_value(law->ratio, -law->shape, u)
                          : -law->mean * random_log(1 - u);
}

double gen_law_met(const struct gen_law *law, double u, double v)
{
    return law->shape > 0 ? law->least * power_value(law->ratio, 1 - law->shape, u)
                          : -law->mean * (random_log(1 - u) + random_log(1 - v));
}

double gen_lognormal_cut(double median, double sigma, double limit, double *below)
{
    enum { STEPS = 4096 };
    double sum = 0;
    unsigned smaller = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        double u = (i + 0.5) / STEPS;
        double value = sigma > 0 ? median * random_exp(sigma * random_normal_quantile(u)) : median;
        smaller += value < limit;
        sum += value < limit ? value : limit;
    }
    *below = (double)smaller / STEPS;
    return sum / STEPS;
}

/* Return 1 plus a whole number with the mean `more`, limited to `most`. */
static uint32_t one_and(double more, double u, uint32_t most)
{
    return more + u < most - 1 ? 1 + (uint32_t)(more + u) : most;
}

/* --- activity -------------------------------------------------------------------------------- */

/* Return the largest ratio up to `wanted` with which the busiest client has at most `most` times
 * the mean. */
static double hot_ratio(double wanted, double shape, double most)
{
    if (wanted * gen_law_make(1, shape, wanted).least <= most) {
        return wanted;
    }
    double low = 1;
    double high = wanted;
    for (unsigned i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (middle * gen_law_make(1, shape, middle).least <= most) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void gen_traffic_read(struct gen_model *model, unsigned row, const struct gen_smooth *smooth,
                      struct gen_traffic *traffic)
{
    const double *p = model->parameters + row;
    const double trickle = p[GEN_TRICKLE];
    double gap = p[GEN_BURST_GAP_MS] * gen_per_ms(model);
    gap = gap < smooth->gap_ticks / 2 ? gap : smooth->gap_ticks / 2;
    double on = gen_whole_mean(gap) + smooth->busy_ticks;
    double mean = trickle < 1 ? smooth->mean_ticks / (1 - trickle) : smooth->mean_ticks;
    double most = BUSY_SHARE_MAX * mean / on;
    double ratio = p[GEN_HOT] > 1 && most > 1 ? hot_ratio(p[GEN_HOT], p[GEN_HOT_SHAPE], most) : 1;
    /* Single requests come while no other is in progress; rounding adds half a tick. */
    double free = smooth->mean_ticks - smooth->busy_ticks;
    double single = trickle > 0 ? free / trickle - 0.5 : 0;
    *traffic = (struct gen_traffic){
        .smooth = !(trickle < 1),
        .together = (uint32_t)p[GEN_TOGETHER],
        .seed = derived_seed(model, row),
        .request_ticks = smooth->mean_ticks,
        .mean_ticks = mean,
        .busy_ticks = smooth->busy_ticks,
        .gap_ticks = gap,
        .trickle_ticks = single > 0 ? single : 0,
        .burst = gen_law_make(p[GEN_BURST] - 1, p[GEN_BURST_SHAPE], TAIL_RATIO),
        .silence = gen_law_make(1, p[GEN_SILENCE_SHAPE], TAIL_RATIO),
        .hot = gen_law_make(1, ratio > 1 + 1e-9 ? p[GEN_HOT_SHAPE] : 0, ratio),
    };
    model->traffic = traffic;
}

/* Return how often a client has bursts, as a multiple of the mean; without a shape all are
 * alike. */
static double client_weight(const struct gen_traffic *traffic, double u)
{
    return traffic->hot.shape > 0 ? gen_law_value(&traffic->hot, u) : 1;
}

/* Return the time from a burst's begin to that of the next. */
static uint64_t cycle_ticks(const struct gen_traffic *traffic, uint64_t client, uint32_t requests,
                            double silence)
{
    /* Clients are evenly spaced on their law, by multiples of the golden ratio, so that few of them
     * have the mean, too. */
    double u = unit(traffic->seed + UINT64_C(0x9e3779b97f4a7c15) * client);
    double mean_ticks = traffic->mean_ticks / client_weight(traffic, u);
    return gen_whole_ticks((double)requests * mean_ticks * silence);
}

/* Fill in equally likely values that represent a law, with `more` added and with its mean. */
static void law_grid(const struct gen_law *law, double more, double *values, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        values[i] = more + gen_law_value(law, (i + 0.5) / count);
        sum += values[i];
    }
    for (unsigned i = 0; i < count; i++) {
        values[i] *= (more + law->mean) * count / sum;
    }
}

double gen_connects(const struct gen_traffic *traffic, double timeout_ticks)
{
    enum { WEIGHTS = 8, BURSTS = 32, SILENCES = 128 };
    double weights[WEIGHTS];
    double bursts[BURSTS];
    double silences[SILENCES];
    const double single = traffic->trickle_ticks;
    law_grid(&traffic->burst, 1, bursts, BURSTS);
    law_grid(&traffic->silence, 0, silences, SILENCES);
    for (unsigned i = 0; i < WEIGHTS; i++) {
        weights[i] = client_weight(traffic, (i + 0.5) / WEIGHTS);
    }
    /* The gap that begins with a burst's silence is too long, and so is that after a single
     * request; weighted by a client's number of bursts. */
    double first = 0;
    double later = 0;
    for (unsigned i = 0; i < WEIGHTS * BURSTS * SILENCES; i++) {
        double weight = weights[i % WEIGHTS];
        double requests = bursts[i / WEIGHTS % BURSTS];
        double silence = silences[i / WEIGHTS / BURSTS];
        double spare = requests * (traffic->mean_ticks / weight * silence - traffic->gap_ticks -
                                   traffic->busy_ticks) -
                       timeout_ticks;
        if (spare > 0) {
            first += weight;
            later += weight * spare;
        }
    }
    double per_burst = first;
    if (single > 0) {
        per_burst = (first + later / single) * (1 - gen_comes_within(timeout_ticks, single));
    }
    per_burst /= WEIGHTS * BURSTS * SILENCES;
    return per_burst / (1 + traffic->burst.mean) / traffic->mean_ticks * traffic->request_ticks;
}

/* Take the next burst, and return its number of requests. */
static uint32_t take_burst(const struct gen_traffic *traffic, struct gen_activity *activity,
                           uint32_t number)
{
    uint64_t client = number / traffic->together;
    uint64_t key = mix(mix(traffic->seed, client), activity->burst_at);
    double more = gen_law_value(&traffic->burst, unit(key));
    uint32_t requests = one_and(more, unit(mix(key, 1)), GEN_BURST_MAX);
    double silence = gen_law_value(&traffic->silence, unit(mix(key, 2)));
    activity->burst_at += cycle_ticks(traffic, client, requests, silence);
    return requests;
}

uint64_t gen_next_request(struct gen_model *model, struct gen_activity *activity, uint64_t now)
{
    const struct gen_traffic *traffic = model->traffic;
    const double single = traffic->trickle_ticks;
    if (activity->left == GEN_BURST_AWAITED) {
        /* Either its first request has come, or something else before it. */
        bool begun = activity->burst_at < now;
        activity->left = begun ? take_burst(traffic, activity, model->visited) - 1 : 0;
    }
    if (activity->left == 0 && activity->burst_at > now) {
        /* Until the burst there is only the trickle; a later single request is drawn again. */
        uint64_t tick = single > 0 ? now + gen_exponential(model, single) : GEN_NEVER;
        if (tick <= activity->burst_at) {
            return tick;
        }
        activity->left = GEN_BURST_AWAITED;
        return activity->burst_at + gen_exponential(model, traffic->gap_ticks);
    }
    if (activity->left == 0) {
        activity->left = take_burst(traffic, activity, model->visited);
    }
    /* The first of the burst's next request and a single one. */
    double gap = traffic->gap_ticks;
    if (single > 0) {
        double total = gap + single;
        activity->left -= random_unit(&model->random) * total < single;
        gap *= single / total;
    } else {
        activity->left--;
    }
    return now + gen_exponential(model, gap);
}

void gen_activity_skip(const struct gen_model *model, struct gen_activity *activity, uint64_t since,
                       uint64_t now)
{
    const struct gen_traffic *traffic = model->traffic;
    uint32_t left = activity->left == GEN_BURST_AWAITED ? 0 : activity->left;
    while (activity->burst_at < now) {
        since = activity->burst_at;
        left = take_burst(traffic, activity, model->visited);
    }
    double missed = (double)(now - since) / (traffic->gap_ticks + traffic->busy_ticks);
    activity->left = missed < left ? left - (uint32_t)missed : 0;
}

uint64_t gen_activity_place(struct gen_model *model, struct gen_activity *activity, uint64_t now,
                            double busy_ticks)
{
    const struct gen_traffic *traffic = model->traffic;
    const double on_ticks = traffic->gap_ticks + busy_ticks;
    uint64_t client = model->visited / traffic->together;
    uint64_t key = mix(traffic->seed, client);
    /* A burst of 1 + b is length-biased: both summands have their shares. */
    double u = unit(mix(key, 1));
    bool plain = unit(mix(key, 2)) * (1 + traffic->burst.mean) < 1;
    double more = plain ? gen_law_value(&traffic->burst, u)
                        : gen_law_met(&traffic->burst, u, unit(mix(key, 3)));
    uint32_t requests = one_and(more, unit(mix(key, 4)), GEN_BURST_MAX);
    double silence = gen_law_met(&traffic->silence, unit(mix(key, 5)), unit(mix(key, 6)));
    uint64_t cycle = cycle_ticks(traffic, client, requests, silence);
    uint64_t since = (uint64_t)((double)cycle * unit(mix(key, 7)));
    activity->burst_at = now + cycle - since;
    double age = random_unit(&model->random) * on_ticks;
    double busy = (double)requests * on_ticks;
    if ((double)since < busy) {
        /* On average half a request is in progress; round at random. */
        uint32_t done = (uint32_t)((double)since / on_ticks + random_unit(&model->random));
        activity->left = requests - (done < requests ? done : requests);
    } else {
        activity->left = 0;
        age += (double)since - busy;
    }
    if (traffic->trickle_ticks > 0) {
        double single = random_exponential(&model->random, traffic->trickle_ticks);
        age = single < age ? single : age;
    }
    return gen_whole_ticks(age);
}

/* --- sessions -------------------------------------------------------------------------------- */

struct gen_sessions gen_sessions_make(double close, double shape)
{
    return (struct gen_sessions){
        .close = close,
        .geometric = !(shape > 0) || !(close > 0),
        .law = gen_law_make(close > 0 ? 1 / close - 1 : 0, shape, TAIL_RATIO),
    };
}

uint32_t gen_session_draw(struct gen_model *model, const struct gen_sessions *sessions)
{
    double more = gen_law_value(&sessions->law, random_unit(&model->random));
    return one_and(more, random_unit(&model->random), GEN_SESSION_MAX);
}

uint32_t gen_session_place(struct gen_model *model, const struct gen_sessions *sessions)
{
    if (sessions->geometric) {
        return 1;
    }
    double u = random_unit(&model->random);
    double v = random_unit(&model->random);
    double more = random_unit(&model->random) * (1 + sessions->law.mean) < 1
                      ? gen_law_value(&sessions->law, u)
                      : gen_law_met(&sessions->law, u, v);
    uint32_t requests = one_and(more, random_unit(&model->random), GEN_SESSION_MAX);
    return 1 + (uint32_t)((double)requests * random_unit(&model->random) * (1 - 0x1p-52));
}

/* --- herds ----------------------------------------------------------------------------------- */

static struct gen_moments moments(const struct gen_model *model, unsigned row, uint64_t key)
{
    const double *p = model->parameters + row;
    const double per_second = gen_per_second(model);
    return (struct gen_moments){
        .share = p[0],
        .first = model->warmup_end + (p[1] > 0 ? gen_whole_ticks(p[1] * per_second) : 0),
        .every = p[2] > 0 ? gen_whole_ticks(p[2] * per_second) : 0,
        .key = key,
    };
}

/* Check that one ends before the next begins. */
static bool ends_in_time(struct gen_model *model, const struct gen_moments *when,
                         unsigned every_row, double ticks)
{
    const struct tl_option *rows = model->workload->parameters;
    return !(when->share > 0) || when->every == 0 || (double)when->every > ticks ||
           error_set(model->error,
                     "%s: %s is not longer than the part that it repeats; choose a longer one",
                     model->workload->name, rows[every_row].name);
}

bool gen_herds_read(struct gen_model *model, unsigned row, unsigned rows, struct gen_herds *herds)
{
    const bool freezes = rows == GEN_HERD_ROWS;
    const double *p = model->parameters + row;
    const double per_second = gen_per_second(model);
    double away = p[GEN_STORM_AWAY_S] * per_second;
    *herds = (struct gen_herds){
        .deploy = moments(model, row + GEN_DEPLOY, derived_seed(model, row + GEN_DEPLOY)),
        .storm = moments(model, row + GEN_STORM, derived_seed(model, row + GEN_STORM)),
        .deploy_over_ticks = p[GEN_DEPLOY_OVER_S] * per_second,
        .storm_away_ticks = gen_whole_ticks(away),
        .storm_jitter_ticks = p[GEN_STORM_JITTER_S] * per_second,
    };
    if (freezes) {
        herds->freeze = moments(model, row + GEN_FREEZE, derived_seed(model, row + GEN_FREEZE));
        herds->freeze_ticks = gen_whole_ticks(p[GEN_FREEZE_MS] * gen_per_ms(model));
    }
    model->herds = herds;
    return ends_in_time(model, &herds->storm, row + GEN_STORM_EVERY_S,
                        (double)herds->storm_away_ticks + herds->storm_jitter_ticks) &&
           (!freezes || ends_in_time(model, &herds->freeze, row + GEN_FREEZE_EVERY_S,
                                     (double)herds->freeze_ticks));
}

/* Get the number of the last moment that is not after `now`; false if there is none. */
static bool last_moment(const struct gen_moments *when, uint64_t now, uint64_t *k)
{
    *k = when->every > 0 && now >= when->first ? (now - when->first) / when->every : 0;
    return when->share > 0 && now >= when->first;
}

static uint64_t moment(const struct gen_moments *when, uint64_t k)
{
    return when->first + k * when->every;
}

/* Return the hash of a connection at moment k. */
static uint64_t bits_at(const struct gen_moments *when, uint64_t k, uint32_t number)
{
    return mix(mix(when->key, k), number);
}

static bool concerns(const struct gen_moments *when, uint64_t k, uint32_t number)
{
    return unit(bits_at(when, k, number)) < when->share;
}

/* Return when a peer that a storm takes at moment k is back. */
static uint64_t back(const struct gen_herds *herds, uint64_t k, uint32_t number)
{
    double u = unit(mix(bits_at(&herds->storm, k, number), 1));
    return moment(&herds->storm, k) + herds->storm_away_ticks +
           (uint64_t)(u * herds->storm_jitter_ticks);
}

/* Return the first moment after `now` that concerns a connection; or after many that do not, the
 * last one checked, where the visit is in vain. */
static uint64_t next_moment(const struct gen_moments *when, uint64_t now, uint32_t number)
{
    if (!(when->share > 0)) {
        return GEN_NEVER;
    }
    uint64_t k;
    bool begun = last_moment(when, now, &k);
    if (begun && when->every == 0) {
        return GEN_NEVER;
    }
    k += begun;
    enum { LOOKS = 16 };
    for (unsigned i = 1; i < LOOKS && !concerns(when, k, number); i++) {
        if (when->every == 0) {
            return GEN_NEVER;
        }
        k++;
    }
    return moment(when, k);
}

uint64_t gen_herd_before(const struct gen_model *model, uint64_t now, uint64_t tick)
{
    const struct gen_herds *herds = model->herds;
    const uint32_t number = model->visited;
    uint64_t next = next_moment(&herds->deploy, now, number);
    tick = next < tick ? next : tick;
    uint64_t k;
    if (last_moment(&herds->storm, now, &k) && concerns(&herds->storm, k, number)) {
        next = back(herds, k, number);
        tick = next > now && next < tick ? next : tick;
    }
    /* A peer is visited when it falls silent, in order to plan its return. */
    next = next_moment(&herds->storm, now, number);
    return next < tick ? next : tick;
}

enum gen_herd gen_herd_at(const struct gen_model *model, uint64_t now)
{
    const struct gen_herds *herds = model->herds;
    const uint32_t number = model->visited;
    uint64_t k;
    if (last_moment(&herds->deploy, now, &k) && moment(&herds->deploy, k) == now &&
        concerns(&herds->deploy, k, number)) {
        return GEN_HERD_DEPLOY;
    }
    if (last_moment(&herds->storm, now, &k) && concerns(&herds->storm, k, number) &&
        back(herds, k, number) == now) {
        return GEN_HERD_BACK;
    }
    return GEN_HERD_NONE;
}

uint64_t gen_arrival(const struct gen_model *model, uint64_t now)
{
    const struct gen_herds *herds = model->herds;
    const uint32_t number = model->visited;
    uint64_t k;
    if (last_moment(&herds->storm, now, &k) && concerns(&herds->storm, k, number)) {
        uint64_t tick = back(herds, k, number);
        now = now < tick ? tick : now;
    }
    if (last_moment(&herds->freeze, now, &k) && concerns(&herds->freeze, k, number)) {
        uint64_t thaw = moment(&herds->freeze, k) + herds->freeze_ticks;
        now = now < thaw ? thaw : now;
    }
    return now;
}

uint64_t gen_herd_return(struct gen_model *model, enum gen_herd herd, uint64_t now,
                         unsigned count_deployed)
{
    bool deploy = herd == GEN_HERD_DEPLOY;
    double over_ticks = model->herds->deploy_over_ticks;
    model->counts[count_deployed + !deploy]++;
    return deploy ? now + gen_whole_ticks(random_unit(&model->random) * over_ticks) : now;
}

void gen_herd_apply(struct gen_model *model, uint64_t now, struct gen_timer *timer,
                    uint64_t *event_at, unsigned count_deployed)
{
    enum gen_herd herd = gen_herd_at(model, now);
    if (herd != GEN_HERD_NONE && timer->delay_ticks > 0) {
        gen_timer_stop(model, now, timer);
        *event_at = gen_herd_return(model, herd, now, count_deployed);
    }
    if (*event_at == now) {
        *event_at = gen_arrival(model, now);
    }
}
