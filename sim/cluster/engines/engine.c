#include "engine.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef TL_HAVE_HIREDIS
extern const struct engine_kind engine_redis;
#endif
#ifdef TL_HAVE_LIBPQ
extern const struct engine_kind engine_postgres;
#endif

const struct engine_kind *const engine_kinds[] = {
#ifdef TL_HAVE_HIREDIS
    &engine_redis,
#endif
#ifdef TL_HAVE_LIBPQ
    &engine_postgres,
#endif
    NULL,
};

const struct engine_kind *engine_find(const char *text, struct error *error)
{
    for (const struct engine_kind *const *kind = engine_kinds; *kind != NULL; kind++) {
        if (strcmp(text, (*kind)->name) == 0) {
            return *kind;
        }
    }
    bool known = strcmp(text, "redis") == 0 || strcmp(text, "postgres") == 0;
    (void)error_set(error,
                    known ? "the engine %s is not in this build: it needs Debian's libhiredis-dev "
                            "(redis) or libpq-dev (postgres)"
                          : "'%s' is no engine: redis and postgres are",
                    text);
    return NULL;
}

/* In the process that is to be the server. */
static void become(const char *const argv[], const char *log, const struct passwd *user)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
        setpgid(0, 0) != 0) {
        _exit(126);
    }
    if (user != NULL &&
        (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0 || chdir("/") != 0)) {
        _exit(126);
    }
    /* So that it cleans up; a change of the user would have reset it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    (void)execvp(argv[0], (char *const *)argv);
    _exit(127);
}

bool engine_spawn(const char *const argv[], const char *log, const char *user, pid_t *pid,
                  struct error *error)
{
    const struct passwd *entry = user != NULL ? getpwnam(user) : NULL;
    if (user != NULL && entry == NULL) {
        return error_set(error, "%s cannot be started: there is no user %s", argv[0], user);
    }
    *pid = fork();
    if (*pid == 0) {
        become(argv, log, entry);
    }
    return *pid > 0 ||
           error_set(error, "%s cannot be started: there is no process for it", argv[0]);
}

bool engine_failed(const char *what, const char *log, struct error *error)
{
    char line[512];
    char last[512] = "";
    FILE *stream = fopen(log, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') {
            memcpy(last, line, sizeof last);
        }
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    if (last[0] != '\0') {
        return error_set(error, "%s: %s", what, last);
    }
    return error_set(error, "%s, and printed nothing: is there room in $TMPDIR?", what);
}
