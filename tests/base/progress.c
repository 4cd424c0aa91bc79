/* Progress of long work without a terminal: a line every ten seconds. */
#include "progress.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard error, from one call to the next. */
static FILE *said;
static int kept;

static int catch_errors(void **state)
{
    (void)state;
    said = tmpfile();
    kept = dup(STDERR_FILENO);
    return said == NULL || kept < 0;
}

static int release_errors(void **state)
{
    (void)state;
    return fclose(said) | close(kept);
}

/* Call it as if this many seconds had passed. */
static void update(struct progress *progress, uint64_t seconds, uint64_t done, const char *expected)
{
    char text[200] = "";
    progress->begun_ns -= seconds * UINT64_C(1000000000);
    progress->shown_ns -= seconds * UINT64_C(1000000000);
    assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
    progress_update(progress, done);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    rewind(said);
    size_t n = fread(text, 1, sizeof text - 1, said);
    text[n] = '\0';
    rewind(said);
    assert_int_equal(ftruncate(fileno(said), 0), 0);
    if (strncmp(text, expected, strlen(expected)) != 0 ||
        (expected[0] == '\0' && text[0] != '\0')) {
        fail_msg("'%s' is said, not '%s'", text, expected);
    }
    assert_true(text[0] == '\0' || text[n - 1] == '\n');
}

static void a_pipe_gets_a_line_every_ten_seconds(void **state)
{
    (void)state;
    struct progress progress;
    progress_begin(&progress, "a-wheel", "cases", 80);
    update(&progress, 0, 1, "");
    update(&progress, 9, 10, "");
    update(&progress, 2, 20, "a-wheel: 25 %, ");
    update(&progress, 5, 30, "");
    update(&progress, 6, 40, "a-wheel: 50 %, ");
    progress_end(&progress);
    progress_set_mode(PROGRESS_NEVER);
    progress_begin(&progress, "a-wheel", "cases", 80);
    update(&progress, 100, 10, "");
    progress_end(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_a_line_every_ten_seconds),
    };
    return cmocka_run_group_tests(tests, catch_errors, release_errors);
}
