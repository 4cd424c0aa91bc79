/*
 * Redis, with its log synced before each answer (appendfsync always). A step is a script: it runs
 * alone, and is in the log whole or not at all. With `everysec` Redis answers before its log is
 * synced, and while a sync takes long, before it is even written: it is refused.
 */
#include "engine.h"

#include "memory.h"
#include "redis_scripts.h" /* generated from the files in redis/ */

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum script {
    SCRIPT_START,
    SCRIPT_STOP,
    SCRIPT_TAKE,
    SCRIPT_ACK,
    SCRIPT_NACK,
    /* lease */
    SCRIPT_REAP,
    SCRIPT_CLAIM,
    SCRIPT_HAND_OUT,
    SCRIPT_LOAD,
    SCRIPT_JOIN,
    /* seed */
    SCRIPT_CLOCK,
    SCRIPT_FETCH,
    SCRIPTS
};

/* Protocols of `seed` delete a fetched entry like an acknowledged one, and queue a failed one like
 * a fetched one. */
static const char *const scripts[2][SCRIPTS] = {
    {[SCRIPT_START] = text_lease_start_lua,
     [SCRIPT_STOP] = text_lease_stop_lua,
     [SCRIPT_TAKE] = text_lease_take_lua,
     [SCRIPT_ACK] = text_lease_ack_lua,
     [SCRIPT_NACK] = text_lease_nack_lua,
     [SCRIPT_REAP] = text_lease_reap_lua,
     [SCRIPT_CLAIM] = text_lease_claim_lua,
     [SCRIPT_HAND_OUT] = text_lease_hand_out_lua,
     [SCRIPT_LOAD] = text_lease_load_lua,
     [SCRIPT_JOIN] = text_lease_join_lua},
    {[SCRIPT_START] = text_seed_start_lua,
     [SCRIPT_STOP] = text_seed_stop_lua,
     [SCRIPT_TAKE] = text_seed_take_lua,
     [SCRIPT_ACK] = text_seed_remove_lua,
     [SCRIPT_NACK] = text_seed_push_lua,
     [SCRIPT_CLOCK] = text_seed_clock_lua,
     [SCRIPT_FETCH] = text_seed_fetch_lua},
};

#define WORD_BYTES 24u /* of a number, as text */

/* In a Redis cluster, the braces keep all keys on one node. */
#define TAG        "{timerlab}"

struct engine {
    redisContext *redis;
    struct engine_plan plan;
    char names[SCRIPTS][41]; /* by which the server knows the scripts */
    /* The arguments of a script. */
    size_t count;
    const char *words[8 * ENGINE_BATCH_MAX + 16];
    size_t lengths[8 * ENGINE_BATCH_MAX + 16];
    char room[8 * ENGINE_BATCH_MAX + 16][WORD_BYTES];
    redisReply *taken; /* has the calls of the last take; NULL: none */
};

static void add_bytes(struct engine *engine, const void *bytes, size_t length)
{
    engine->words[engine->count] = bytes;
    engine->lengths[engine->count++] = length;
}

static void add_word(struct engine *engine, const char *word)
{
    add_bytes(engine, word, strlen(word));
}

static void add_number(struct engine *engine, uint64_t number)
{
    char *room = engine->room[engine->count];
    (void)snprintf(room, WORD_BYTES, "%" PRIu64, number);
    add_word(engine, room);
}

/* Begin a script's arguments with these numbers. */
static void call_with(struct engine *engine, enum script script, const uint64_t *numbers,
                      size_t count)
{
    engine->count = 0;
    add_word(engine, "EVALSHA");
    add_word(engine, engine->names[script]);
    add_word(engine, "1");
    add_word(engine, TAG);
    for (size_t i = 0; i < count; i++) {
        add_number(engine, numbers[i]);
    }
}

#define NUMBERS(...)                                                                               \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define CALL(engine, script, ...) call_with(engine, script, NUMBERS(__VA_ARGS__))

/* An error reply of the server is a failure, anything else a broken connection. */
static enum engine_end judge_reply(struct engine *engine, redisReply *reply, struct error *error)
{
    if (engine->redis->err == REDIS_ERR_OOM) {
        memory_end();
    }
    if (reply == NULL || engine->redis->err != 0) {
        return ENGINE_GONE;
    }
    if (reply->type != REDIS_REPLY_ERROR) {
        return ENGINE_OK;
    }
    if (strncmp(reply->str, "LOADING", 7) == 0 || strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        return ENGINE_GONE;
    }
    (void)error_set(error, "redis: %s", reply->str);
    return ENGINE_FAILED;
}

static enum engine_end run_script(struct engine *engine, redisReply **reply, struct error *error)
{
    *reply = redisCommandArgv(engine->redis, (int)engine->count, engine->words, engine->lengths);
    enum engine_end end = judge_reply(engine, *reply, error);
    if (end != ENGINE_OK && *reply != NULL) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return end;
}

/* A script that answers with a character for each of `count` timers. */
static enum engine_end run_for_answers(struct engine *engine, size_t count, char *answers,
                                       struct error *error)
{
    redisReply *reply;
    enum engine_end end = run_script(engine, &reply, error);
    if (end == ENGINE_OK && (reply->type != REDIS_REPLY_STRING || (size_t)reply->len != count)) {
        (void)error_set(error, "redis: unexpected answer of a script");
        end = ENGINE_FAILED;
    }
    if (end == ENGINE_OK) {
        memcpy(answers, reply->str, count);
    }
    freeReplyObject(reply);
    return end;
}

static enum engine_end redis_say(struct engine *engine, enum engine_word word,
                                 const struct engine_timer *timers, size_t count, char *answers,
                                 struct error *error)
{
    static const enum script script_of[] = {[SAY_START] = SCRIPT_START,
                                            [SAY_STOP] = SCRIPT_STOP,
                                            [SAY_ACK] = SCRIPT_ACK,
                                            [SAY_NACK] = SCRIPT_NACK,
                                            [SAY_LATER] = SCRIPT_NACK};
    const struct engine_plan *plan = &engine->plan;
    bool seed = plan->is_seed;
    call_with(engine, script_of[word], NULL, 0);
    if (word == SAY_START && seed) {
        add_number(engine, ENGINE_REVOLUTION);
    }
    if (word <= SAY_STOP) {
        add_number(engine, seed ? plan->tick_ms : plan->partitions);
    } else if (word == SAY_ACK && !seed) {
        add_number(engine, plan->keep_ms);
    } else if (!seed) {
        add_number(engine, plan->partitions);
        add_number(engine, word == SAY_LATER ? 0 : plan->attempts_max);
    }
    for (size_t i = 0; i < count; i++) {
        if (word == SAY_ACK && seed) {
            add_number(engine, timers[i].at_ms / plan->tick_ms % ENGINE_REVOLUTION);
        }
        add_number(engine, timers[i].id);
        add_number(engine, timers[i].generation);
        if (word >= SAY_ACK && !seed) {
            add_number(engine, timers[i].token);
        }
        if (word == SAY_START || word >= SAY_NACK || (word == SAY_ACK && seed)) {
            add_number(engine, timers[i].at_ms);
        }
        if (word == SAY_START) {
            add_bytes(engine, timers[i].call, timers[i].call_bytes);
        }
    }
    return run_for_answers(engine, count, answers, error);
}

static int64_t number_in(const redisReply *reply, size_t at)
{
    return reply->type == REDIS_REPLY_ARRAY && at < reply->elements &&
                   reply->element[at]->type == REDIS_REPLY_INTEGER
               ? reply->element[at]->integer
               : 0;
}

static enum engine_end redis_move_clock(struct engine *engine, const char *clock, uint64_t tick,
                                        uint64_t *version, int64_t *state, uint64_t *passed,
                                        struct error *error)
{
    redisReply *reply;
    call_with(engine, SCRIPT_CLOCK, NULL, 0);
    add_word(engine, clock);
    add_number(engine, tick);
    add_number(engine, *version);
    enum engine_end end = run_script(engine, &reply, error);
    if (end == ENGINE_OK) {
        *state = number_in(reply, 0);
        *version = (uint64_t)number_in(reply, 1);
        *passed = (uint64_t)number_in(reply, 2);
        freeReplyObject(reply);
    }
    return end;
}

static enum engine_end redis_fetch(struct engine *engine, uint64_t tick, uint64_t now_ms,
                                   struct engine_timer **timers, size_t *count, struct error *error)
{
    redisReply *reply;
    size_t room = 0;
    *timers = NULL;
    *count = 0;
    CALL(engine, SCRIPT_FETCH, tick % ENGINE_REVOLUTION, now_ms);
    enum engine_end end = run_script(engine, &reply, error);
    if (end != ENGINE_OK) {
        return end;
    }
    const char *line = reply->type == REDIS_REPLY_STRING ? reply->str : "";
    struct engine_timer timer = {0};
    while (line != NULL && sscanf(line, "%" SCNu64 ":%" SCNu32 ":%" SCNu64, &timer.id,
                                  &timer.generation, &timer.at_ms) == 3) {
        MEMORY_REACH(*timers, room, *count);
        (*timers)[(*count)++] = timer;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    freeReplyObject(reply);
    return ENGINE_OK;
}

static enum engine_end redis_claim(struct engine *engine, const struct engine_claim *claim,
                                   uint64_t *version, int64_t *moved, struct error *error)
{
    redisReply *reply;
    CALL(engine, SCRIPT_CLAIM, claim->now_ms, ENGINE_BATCH_MAX, version != NULL ? *version : 0,
         claim->partition);
    if (claim->node >= 0) {
        add_number(engine, (uint64_t)claim->node);
    } else {
        add_word(engine, "-");
    }
    add_number(engine, engine->plan.ids);
    enum engine_end end = run_script(engine, &reply, error);
    if (end == ENGINE_OK) {
        *moved = number_in(reply, 0);
        if (version != NULL) {
            *version = (uint64_t)number_in(reply, 1);
        }
        freeReplyObject(reply);
    }
    return end;
}

static enum engine_end redis_take(struct engine *engine, uint64_t now_ms,
                                  struct engine_timer *timers, size_t *count, struct error *error)
{
    size_t most = *count;
    redisReply *reply;
    *count = 0;
    CALL(engine, SCRIPT_TAKE, most, now_ms, engine->plan.lease_ms);
    enum engine_end end = run_script(engine, &reply, error);
    if (end != ENGINE_OK) {
        return end;
    }
    freeReplyObject(engine->taken);
    engine->taken = reply;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements && *count < most;
         i += 2) {
        struct engine_timer timer = {.call = reply->element[i + 1]->str,
                                     .call_bytes = (size_t)reply->element[i + 1]->len};
        if (sscanf(reply->element[i]->str,
                   "%" SCNu64 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu64, &timer.id,
                   &timer.generation, &timer.token, &timer.attempt, &timer.at_ms) == 5) {
            timers[(*count)++] = timer;
        }
    }
    return ENGINE_OK;
}

/* Plain commands, in one go; the sum of the numbers that they answer. */
static enum engine_end sum_of(struct engine *engine, const char *const *commands, size_t count,
                              int64_t *sum, struct error *error)
{
    enum engine_end end = ENGINE_OK;
    *sum = 0;
    for (size_t i = 0; i < count; i++) {
        (void)redisAppendCommand(engine->redis, commands[i]);
    }
    for (size_t i = 0; i < count && end != ENGINE_GONE; i++) {
        redisReply *reply = NULL;
        (void)redisGetReply(engine->redis, (void **)&reply);
        enum engine_end this_end = judge_reply(engine, reply, error);
        if (this_end == ENGINE_OK && reply->type == REDIS_REPLY_INTEGER) {
            *sum += reply->integer;
        }
        end = this_end != ENGINE_OK ? this_end : end;
        freeReplyObject(reply);
    }
    return end;
}

static enum engine_end count_waiting(struct engine *engine, int64_t *count, struct error *error)
{
    static const char *const of_seed[] = {"DBSIZE", "LLEN rdy:" TAG};
    const char *of_lease[ENGINE_PARTITIONS_MAX + 2] = {"LLEN rdy:" TAG, "ZCARD fly:" TAG};
    char names[ENGINE_PARTITIONS_MAX][40];
    for (uint32_t i = 0; i < engine->plan.partitions; i++) {
        (void)snprintf(names[i], sizeof names[i], "ZCARD due:" TAG ":%" PRIu32, i);
        of_lease[2 + i] = names[i];
    }
    return engine->plan.is_seed
               ? sum_of(engine, of_seed, 2, count, error)
               : sum_of(engine, of_lease, 2 + engine->plan.partitions, count, error);
}

static enum engine_end redis_step(struct engine *engine, enum engine_step step, uint64_t now_ms,
                                  uint32_t node, int64_t *answer, struct error *error)
{
    const struct engine_plan *plan = &engine->plan;
    redisReply *reply;
    switch (step) {
    case STEP_HAND_OUT:
        CALL(engine, SCRIPT_HAND_OUT, now_ms, plan->partitions);
        break;
    case STEP_LOAD:
        CALL(engine, SCRIPT_LOAD, now_ms, ENGINE_BATCH_MAX);
        break;
    case STEP_JOIN:
        CALL(engine, SCRIPT_JOIN, now_ms, plan->lease_ms, node, plan->ids);
        break;
    case STEP_REAP:
        CALL(engine, SCRIPT_REAP, now_ms, ENGINE_BATCH_MAX, plan->attempts_max);
        break;
    case STEP_WAITING:
        return count_waiting(engine, answer, error);
    }
    enum engine_end end = run_script(engine, &reply, error);
    if (end == ENGINE_OK) {
        *answer = reply->integer;
        freeReplyObject(reply);
    }
    return end;
}

static enum engine_end redis_dead(struct engine *engine,
                                  void (*visit)(void *ctx, uint64_t id, uint32_t generation),
                                  void *ctx, struct error *error)
{
    redisReply *reply = redisCommand(engine->redis, "ZRANGE dead:" TAG " 0 -1");
    enum engine_end end = judge_reply(engine, reply, error);
    for (size_t i = 0; end == ENGINE_OK && i < reply->elements; i++) {
        uint64_t id;
        uint32_t generation;
        if (sscanf(reply->element[i]->str, "%" SCNu64 ":%" SCNu32, &id, &generation) == 2) {
            visit(ctx, id, generation);
        }
    }
    freeReplyObject(reply);
    return end;
}

static void redis_close(struct engine *engine)
{
    if (engine != NULL) {
        freeReplyObject(engine->taken);
        redisFree(engine->redis);
        free(engine);
    }
}

static enum engine_end redis_connect(const char *url, const struct engine_plan *plan,
                                     struct engine **result, struct error *error)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    *result = NULL;
    engine->plan = *plan;
    engine->redis = memory_made(redisConnectUnix(url));
    if (engine->redis->err != 0) {
        (void)error_set(error, "%s does not answer: %s", url, engine->redis->errstr);
        redis_close(engine);
        return ENGINE_GONE;
    }
    enum engine_end end = ENGINE_OK;
    const char *const *texts = scripts[plan->is_seed];
    for (int i = 0; i < SCRIPTS && end == ENGINE_OK; i++) {
        redisReply *reply =
            texts[i] != NULL ? redisCommand(engine->redis, "SCRIPT LOAD %s", texts[i]) : NULL;
        if (texts[i] != NULL) {
            end = judge_reply(engine, reply, error);
            (void)snprintf(engine->names[i], sizeof engine->names[i], "%s",
                           end == ENGINE_OK ? reply->str : "");
        }
        if (reply != NULL) {
            freeReplyObject(reply);
        }
    }
    if (end != ENGINE_OK) {
        redis_close(engine);
        return end;
    }
    *result = engine;
    return ENGINE_OK;
}

/* --- a server of our own ---------------------------------------------------------------------- */

/* Whether PATH has a program of that name. */
static bool finds(const char *program)
{
    const char *at = getenv("PATH");
    bool found = false;
    while (at != NULL && at[0] != '\0' && !found) {
        char path[4096];
        int length = (int)strcspn(at, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", length, at, program);
        found = access(path, X_OK) == 0;
        at += length + (at[length] == ':');
    }
    return found;
}

static bool redis_is_installed(struct error *error)
{
    return finds("redis-server") ||
           error_set(error, "redis-server is not installed (Debian: redis-server)");
}

static bool redis_serve(struct engine_server *server, struct error *error)
{
    char socket[sizeof server->folder + 16];
    char log[sizeof server->folder + 16];
    (void)snprintf(socket, sizeof socket, "%s/redis.sock", server->folder);
    (void)snprintf(log, sizeof log, "%s/redis.log", server->folder);
    const char *const argv[] = {"redis-server",
                                "--port",
                                "0",
                                "--unixsocket",
                                socket,
                                "--dir",
                                server->folder,
                                "--save",
                                "",
                                "--appendonly",
                                "yes",
                                "--appendfsync",
                                "always",
                                "--maxmemory-policy",
                                "noeviction",
                                "--daemonize",
                                "no",
                                "--loglevel",
                                "warning",
                                NULL};
    return engine_spawn(argv, log, NULL, &server->pid, error);
}

static bool redis_prepare(struct engine_server *server, struct error *error)
{
    (void)error;
    (void)snprintf(server->url, sizeof server->url, "%s/redis.sock", server->folder);
    return true;
}

const struct engine_kind engine_redis = {
    .name = "redis",
    .package = "redis-server",
    .is_installed = redis_is_installed,
    .prepare = redis_prepare,
    .serve = redis_serve,
    .connect = redis_connect,
    .close = redis_close,
    .say = redis_say,
    .move_clock = redis_move_clock,
    .fetch = redis_fetch,
    .claim = redis_claim,
    .step = redis_step,
    .take = redis_take,
    .dead = redis_dead,
};
