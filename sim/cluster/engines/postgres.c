/*
 * PostgreSQL with commits that wait for the disk (synchronous_commit), for the protocol `lease` and
 * its variants of claiming. A step is a function in postgres.sql, and so a transaction; rows that
 * another transaction has locked are skipped.
 */
#include "engine.h"

#include "loaded_library.h"
#include "memory.h"
#include "postgres_script.h" /* generated from postgres.sql */

#include <glob.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_BYTES (ENGINE_BATCH_MAX * 21 + 3)
#define ARGUMENTS   7
#define SERVER_USER "postgres" /* who runs the server, where we are root: it refuses to be */

/* It brings twenty libraries with it, for which no other command is to wait. */
#define PQ_FUNCTIONS(X)                                                                            \
    X(PQclear)                                                                                     \
    X(PQconnectdb)                                                                                 \
    X(PQerrorMessage)                                                                              \
    X(PQexec)                                                                                      \
    X(PQexecParams)                                                                                \
    X(PQfinish)                                                                                    \
    X(PQgetvalue)                                                                                  \
    X(PQnfields)                                                                                   \
    X(PQntuples)                                                                                   \
    X(PQresultErrorField)                                                                          \
    X(PQresultStatus)                                                                              \
    X(PQsetNoticeProcessor)                                                                        \
    X(PQstatus)
LOADED_LIBRARY(PQ_FUNCTIONS, "libpq.so.5");

struct engine {
    PGconn *connection;
    struct engine_plan plan;
    uint64_t ids; /* of nodes: the locks of this connection, a bit each */
    /* The arguments of a function. */
    int count;
    const char *arguments[ARGUMENTS];
    char room[ARGUMENTS][ARRAY_BYTES];
    char *calls; /* the calls of the last start, as an array, or of the last take */
    size_t calls_room;
};

/* Begin a function's arguments with these numbers. */
static void call_with(struct engine *engine, const uint64_t *numbers, size_t count)
{
    for (engine->count = 0; (size_t)engine->count < count; engine->count++) {
        char *room = engine->room[engine->count];
        (void)snprintf(room, ARRAY_BYTES, "%" PRIu64, numbers[engine->count]);
        engine->arguments[engine->count] = room;
    }
}

#define NUMBERS(...)                                                                               \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define CALL(engine, ...) call_with(engine, NUMBERS(__VA_ARGS__))

enum field { FIELD_ID, FIELD_GENERATION, FIELD_AT, FIELD_TOKEN };

/* An array with this field of each timer. */
static void add_array(struct engine *engine, const struct engine_timer *timers, size_t count,
                      enum field field)
{
    char *room = engine->room[engine->count];
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct engine_timer *timer = &timers[i];
        uint64_t number = field == FIELD_ID           ? timer->id
                          : field == FIELD_GENERATION ? timer->generation
                          : field == FIELD_AT         ? timer->at_ms
                                                      : timer->token;
        at +=
            (size_t)snprintf(room + at, ARRAY_BYTES - at, "%c%" PRIu64, i == 0 ? '{' : ',', number);
    }
    (void)snprintf(room + at, ARRAY_BYTES - at, "%s", count == 0 ? "{}" : "}");
    engine->arguments[engine->count++] = room;
}

/* An array of the timers' calls, as hexadecimal digits; if they are not started, of nothing. */
static void add_calls(struct engine *engine, const struct engine_timer *timers, size_t count)
{
    size_t at = 1;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *bytes = timers[i].call;
        size_t length = bytes != NULL ? timers[i].call_bytes : 0;
        MEMORY_REACH(engine->calls, engine->calls_room, at + 2 * length + 16);
        at += (size_t)sprintf(engine->calls + at, "%s\"\\\\x", i > 0 ? "," : "");
        for (size_t k = 0; k < length; k++) {
            engine->calls[at++] = "0123456789abcdef"[bytes[k] >> 4];
            engine->calls[at++] = "0123456789abcdef"[bytes[k] & 15];
        }
        engine->calls[at++] = '"';
    }
    MEMORY_REACH(engine->calls, engine->calls_room, at + 2);
    engine->calls[0] = '{';
    memcpy(engine->calls + at, "}", 2);
    engine->arguments[engine->count++] = engine->calls;
}

/* Set the error to the first line of the server's message. */
static void complain(const struct engine *engine, struct error *error)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s", lib.PQerrorMessage(engine->connection));
    text[strcspn(text, "\n")] = '\0';
    (void)error_set(error, "postgres: %s", text);
}

/* Whether it was done; some of what fails is to be tried again. */
static enum engine_end judge_result(const struct engine *engine, const PGresult *result,
                                    struct error *error)
{
    static const char *const passing[] = {"40P01", "40001", "57P01", "57P02", "57P03"};
    ExecStatusType status = lib.PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        return ENGINE_OK;
    }
    const char *code = lib.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        if (code != NULL && strcmp(code, passing[i]) == 0) {
            return ENGINE_GONE;
        }
    }
    if (lib.PQstatus(engine->connection) == CONNECTION_BAD) {
        return ENGINE_GONE;
    }
    complain(engine, error);
    return ENGINE_FAILED;
}

/* Runs a statement with the arguments. The result is for the caller to clear, and NULL if it is not
 * done. */
static enum engine_end run_statement(struct engine *engine, const char *statement,
                                     PGresult **result, struct error *error)
{
    *result = lib.PQexecParams(engine->connection, statement, engine->count, NULL,
                               engine->arguments, NULL, NULL, 0);
    enum engine_end end = judge_result(engine, *result, error);
    if (end != ENGINE_OK) {
        lib.PQclear(*result);
        *result = NULL;
    }
    return end;
}

static uint64_t number_at(const PGresult *result, int row, int column)
{
    return row < lib.PQntuples(result) && column < lib.PQnfields(result)
               ? strtoull(lib.PQgetvalue(result, row, column), NULL, 10)
               : 0;
}

static enum engine_end run_for_number(struct engine *engine, const char *statement, int64_t *number,
                                      struct error *error)
{
    PGresult *result;
    enum engine_end end = run_statement(engine, statement, &result, error);
    if (end == ENGINE_OK) {
        *number = (int64_t)number_at(result, 0, 0);
    }
    lib.PQclear(result);
    return end;
}

static enum engine_end run_for_answers(struct engine *engine, const char *statement, size_t count,
                                       char *answers, struct error *error)
{
    PGresult *result;
    enum engine_end end = run_statement(engine, statement, &result, error);
    if (end == ENGINE_OK &&
        (lib.PQntuples(result) != 1 || strlen(lib.PQgetvalue(result, 0, 0)) != count)) {
        (void)error_set(error, "postgres: unexpected answer of a function");
        end = ENGINE_FAILED;
    }
    if (end == ENGINE_OK) {
        memcpy(answers, lib.PQgetvalue(result, 0, 0), count);
    }
    lib.PQclear(result);
    return end;
}

static enum engine_end postgres_say(struct engine *engine, enum engine_word word,
                                    const struct engine_timer *timers, size_t count, char *answers,
                                    struct error *error)
{
    static const char *const words[] = {"start", "stop", "ack", "nack", "later"};
    CALL(engine, 0, engine->plan.attempts_max);
    engine->arguments[0] = words[word];
    add_array(engine, timers, count, FIELD_ID);
    add_array(engine, timers, count, FIELD_GENERATION);
    add_array(engine, timers, count, FIELD_TOKEN);
    add_array(engine, timers, count, FIELD_AT);
    add_calls(engine, timers, word == SAY_START ? count : 0);
    return run_for_answers(engine, "select timerlab.lease_say($1, $2, $3, $4, $5, $6, $7)", count,
                           answers, error);
}

static bool has_id(const struct engine *engine, uint32_t id)
{
    return (engine->ids >> id & 1) != 0;
}

static enum engine_end postgres_claim(struct engine *engine, const struct engine_claim *claim,
                                      uint64_t *version, int64_t *moved, struct error *error)
{
    PGresult *result;
    if (claim->node >= 0 && !has_id(engine, claim->partition % engine->plan.ids)) {
        *moved = -1;
        return ENGINE_OK;
    }
    CALL(engine, claim->now_ms, ENGINE_BATCH_MAX, version != NULL ? *version : 0, claim->partition,
         engine->plan.partitions);
    enum engine_end end = run_statement(
        engine, "select * from timerlab.lease_claim($1, $2, $3, $4, $5)", &result, error);
    if (end == ENGINE_OK) {
        *moved = (int64_t)number_at(result, 0, 0);
        if (version != NULL) {
            *version = number_at(result, 0, 1);
        }
    }
    lib.PQclear(result);
    return end;
}

/* By an advisory lock of the session, which is the lease: it ends with the connection. An id of a
 * node that is gone is kept until the next call. */
static enum engine_end join_ids(struct engine *engine, uint32_t node, int64_t *ids,
                                struct error *error)
{
    enum engine_end end = ENGINE_OK;
    for (uint32_t id = 0; id < engine->plan.ids && end == ENGINE_OK; id++) {
        bool is_mine = id == node % engine->plan.ids;
        int64_t got = 0;
        if (is_mine && has_id(engine, id)) {
            continue;
        }
        CALL(engine, id);
        end = run_for_number(engine,
                             has_id(engine, id) ? "select pg_advisory_unlock(7317, $1)::int - 1"
                                                : "select pg_try_advisory_lock(7317, $1)::int",
                             &got, error);
        engine->ids = (engine->ids & ~(UINT64_C(1) << id)) | (uint64_t)(got == 1) << id;
    }
    *ids = (int64_t)engine->ids;
    return end;
}

static enum engine_end postgres_step(struct engine *engine, enum engine_step step, uint64_t now_ms,
                                     uint32_t node, int64_t *answer, struct error *error)
{
    const struct engine_plan *plan = &engine->plan;
    const char *statement = NULL;
    switch (step) {
    case STEP_HAND_OUT:
        CALL(engine, now_ms, plan->partitions);
        statement = "select timerlab.lease_hand_out($1, $2)";
        break;
    case STEP_LOAD:
        CALL(engine, now_ms, ENGINE_BATCH_MAX, plan->partitions);
        statement = "select timerlab.lease_load($1, $2, $3)";
        break;
    case STEP_JOIN:
        return join_ids(engine, node, answer, error);
    case STEP_REAP:
        CALL(engine, now_ms, ENGINE_BATCH_MAX, plan->attempts_max, plan->keep_ms);
        statement = "select timerlab.lease_reap($1, $2, $3, $4)";
        break;
    case STEP_WAITING:
        call_with(engine, NULL, 0);
        statement = "select (select count(*) from timerlab.timer where state = 'P') + "
                    "(select count(*) from timerlab.timer where state = 'R') + "
                    "(select count(*) from timerlab.timer where state = 'F')";
        break;
    }
    return run_for_number(engine, statement, answer, error);
}

static enum engine_end postgres_take(struct engine *engine, uint64_t now_ms,
                                     struct engine_timer *timers, size_t *count,
                                     struct error *error)
{
    size_t most = *count;
    PGresult *result;
    *count = 0;
    CALL(engine, most, now_ms, engine->plan.lease_ms);
    enum engine_end end =
        run_statement(engine, "select * from timerlab.lease_take($1, $2, $3)", &result, error);
    size_t at = 0;
    int rows = end == ENGINE_OK ? lib.PQntuples(result) : 0;
    for (int row = 0; row < rows; row++) {
        at += strlen(lib.PQgetvalue(result, row, 5)) / 2;
    }
    MEMORY_REACH(engine->calls, engine->calls_room, at); /* before there are pointers into it */
    at = 0;
    for (int row = 0; row < rows && *count < most; row++) {
        struct engine_timer *timer = &timers[(*count)++];
        *timer = (struct engine_timer){
            .id = number_at(result, row, 0),
            .generation = (uint32_t)number_at(result, row, 1),
            .token = number_at(result, row, 2),
            .attempt = (uint32_t)number_at(result, row, 3),
            .at_ms = number_at(result, row, 4),
            .call = engine->calls + at,
        };
        const char *digits = lib.PQgetvalue(result, row, 5) + 2; /* after "\\x" */
        for (; digits[0] != '\0'; digits += 2) {
            const char pair[] = {digits[0], digits[1], '\0'};
            engine->calls[at++] = (char)strtoul(pair, NULL, 16);
            timer->call_bytes++;
        }
    }
    lib.PQclear(result);
    return end;
}

static enum engine_end postgres_dead(struct engine *engine,
                                     void (*visit)(void *ctx, uint64_t id, uint32_t generation),
                                     void *ctx, struct error *error)
{
    PGresult *result;
    call_with(engine, NULL, 0);
    enum engine_end end = run_statement(
        engine, "select id, generation from timerlab.timer where state = 'Z'", &result, error);
    for (int row = 0; end == ENGINE_OK && row < lib.PQntuples(result); row++) {
        visit(ctx, number_at(result, row, 0), (uint32_t)number_at(result, row, 1));
    }
    lib.PQclear(result);
    return end;
}

static enum engine_end run_plain(struct engine *engine, const char *statements, struct error *error)
{
    PGresult *result = lib.PQexec(engine->connection, statements);
    enum engine_end end = judge_result(engine, result, error);
    lib.PQclear(result);
    return end;
}

static void postgres_close(struct engine *engine)
{
    if (engine != NULL) {
        lib.PQfinish(engine->connection);
        free(engine->calls);
        free(engine);
    }
}

/* Once for all who connect. */
static enum engine_end bring_protocol(struct engine *engine, struct error *error)
{
    int64_t there = 0;
    call_with(engine, NULL, 0);
    enum engine_end end = run_plain(engine, "begin; select pg_advisory_xact_lock(7316)", error);
    end = end == ENGINE_OK ? run_for_number(engine,
                                            "select count(*) from pg_namespace where nspname = "
                                            "'timerlab'",
                                            &there, error)
                           : end;
    if (end == ENGINE_OK && there == 0) {
        end = run_plain(engine, text_postgres_sql, error);
    }
    return end == ENGINE_OK ? run_plain(engine, "commit", error) : end;
}

/* A server that is killed says so on standard error, if it is let. */
static void hear_nothing(void *unused, const char *message)
{
    (void)unused;
    (void)message;
}

static enum engine_end postgres_connect(const char *url, const struct engine_plan *plan,
                                        struct engine **result, struct error *error)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    *result = NULL;
    if (memory_unless_short(tl_library_load(&library)) == NULL) {
        (void)error_set(error, "libpq is not installed; Debian's package is libpq5");
        free(engine);
        return ENGINE_FAILED;
    }
    engine->plan = *plan;
    engine->connection = memory_made(lib.PQconnectdb(url));
    if (lib.PQstatus(engine->connection) != CONNECTION_OK) {
        complain(engine, error);
        postgres_close(engine);
        return ENGINE_GONE;
    }
    (void)lib.PQsetNoticeProcessor(engine->connection, hear_nothing, NULL);
    enum engine_end end = run_plain(engine, "set client_min_messages = error", error);
    end = end == ENGINE_OK ? bring_protocol(engine, error) : end;
    if (end != ENGINE_OK) {
        postgres_close(engine);
        return end;
    }
    *result = engine;
    return ENGINE_OK;
}

/* --- a server of our own ---------------------------------------------------------------------- */

/* One of the server's programs, which Debian keeps out of the path. */
static bool find_program(const char *name, char path[512], struct error *error)
{
    char pattern[128];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
    bool there = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    (void)snprintf(path, 512, "%s", there ? found.gl_pathv[found.gl_pathc - 1] : name);
    globfree(&found);
    return there || error_set(error, "PostgreSQL's server is not installed (Debian: postgresql)");
}

static bool postgres_is_installed(struct error *error)
{
    char path[512];
    if (memory_unless_short(tl_library_load(&library)) == NULL) {
        return error_set(error, "libpq is not installed (Debian: libpq5)");
    }
    return find_program("initdb", path, error);
}

static const char *server_user(void)
{
    return geteuid() == 0 ? SERVER_USER : NULL;
}

/* Where we are root, the folder is the server's, and that above lets it pass. */
static bool give_folder(const struct engine_server *server, struct error *error)
{
    char above[sizeof server->folder + 8];
    const struct passwd *user = server_user() != NULL ? getpwnam(SERVER_USER) : NULL;
    if (server_user() == NULL) {
        return true;
    }
    (void)snprintf(above, sizeof above, "%s/..", server->folder);
    return (user != NULL && chown(server->folder, user->pw_uid, user->pw_gid) == 0 &&
            chmod(above, 0711) == 0) ||
           error_set(error, "postgres does not run as root, and there is no user %s to run it",
                     SERVER_USER);
}

static bool postgres_prepare(struct engine_server *server, struct error *error)
{
    char program[512];
    char data[sizeof server->folder + 8];
    char log[sizeof server->folder + 16];
    pid_t pid;
    int status = 0;
    (void)snprintf(data, sizeof data, "%s/data", server->folder);
    (void)snprintf(log, sizeof log, "%s/initdb.log", server->folder);
    (void)snprintf(server->url, sizeof server->url,
                   "host=%s user=timerlab dbname=postgres connect_timeout=5", server->folder);
    if (!find_program("initdb", program, error) || !give_folder(server, error)) {
        return false;
    }
    const char *const argv[] = {program, "-D", data,        "-U",         "timerlab",  "-A",
                                "trust", "-E", "SQL_ASCII", "--locale=C", "--no-sync", NULL};
    if (!engine_spawn(argv, log, server_user(), &pid, error)) {
        return false;
    }
    return (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           engine_failed("postgres: initdb failed", log, error);
}

static bool postgres_serve(struct engine_server *server, struct error *error)
{
    char program[512];
    char data[sizeof server->folder + 8];
    char log[sizeof server->folder + 16];
    (void)snprintf(data, sizeof data, "%s/data", server->folder);
    (void)snprintf(log, sizeof log, "%s/postgres.log", server->folder);
    if (!find_program("postgres", program, error)) {
        return false;
    }
    const char *const argv[] = {program,
                                "-D",
                                data,
                                "-k",
                                server->folder,
                                "-c",
                                "listen_addresses=",
                                "-c",
                                "max_connections=250",
                                NULL};
    return engine_spawn(argv, log, server_user(), &server->pid, error);
}

const struct engine_kind engine_postgres = {
    .name = "postgres",
    .package = "postgresql",
    .is_installed = postgres_is_installed,
    .prepare = postgres_prepare,
    .serve = postgres_serve,
    .connect = postgres_connect,
    .close = postgres_close,
    .say = postgres_say,
    .claim = postgres_claim,
    .step = postgres_step,
    .take = postgres_take,
    .dead = postgres_dead,
};
