/* Plug-ins are checked before they are loaded, and each refusal contains a remedy. */
#include "test.h"

#include "plugin.h"
#include "registry.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOUND TL_BINARY_DIR "/tests/faulty-early.so" /* as an object, nothing is wrong with it */

static char copy_path[] = "/tmp/timerlab-plugin-XXXXXX";

/* The sound plug-in's bytes up to `length`, with one 16-bit field of its header replaced. */
static void write_copy(size_t length, size_t offset, uint16_t value)
{
    FILE *in = fopen(SOUND, "rb");
    FILE *out = fopen(copy_path, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t i = 0; i < length; i++) {
        int byte = fgetc(in);
        if (byte == EOF) {
            break;
        }
        if (i >= offset && i - offset < 2) {
            byte = (value >> (8 * (i - offset))) & 0xff;
        }
        (void)fputc(byte, out);
    }
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void assert_refused(const char *spec, const char *complaint)
{
    char why[1024];
    struct tl_plugin *plugin = tl_plugin_open(spec, why, sizeof why);
    if (plugin != NULL) {
        tl_plugin_close(plugin);
        fail_msg("%s was taken", spec);
    }
    if (strstr(why, complaint) == NULL) {
        fail_msg("'%s' does not say '%s'", why, complaint);
    }
}

static void refusals_say_why(void **state)
{
    (void)state;
    assert_refused("/no/such/file.so", "No such file or directory");
    assert_refused("/", "is a folder, a device or a pipe");
    write_copy(SIZE_MAX, offsetof(Elf64_Ehdr, e_type), ET_REL);
    assert_refused(copy_path, "only ET_DYN and ET_EXEC can be loaded");
    write_copy(9, SIZE_MAX, 0);
    assert_refused(copy_path, "file too short; build a plug-in with cc -shared -fPIC");
    write_copy(0, SIZE_MAX, 0);
    assert_refused(copy_path, "file too short");
    assert_refused(TL_BINARY_DIR "/tests/faulty-abi.so", "abi 2 where this timerlab has 1");
    assert_refused(TL_BINARY_DIR "/tests/faulty-symbol.so", "no symbol timerlab_algo");
    assert_refused(TL_BINARY_DIR "/tests/faulty-descriptor.so", "go together");
    assert_refused(SOUND ",My Wheel", "not lower-case words joined by dashes: My Wheel");
    assert_refused(SOUND ",", "missing text: name");
}

static void names_are_the_file_s_or_the_caller_s(void **state)
{
    (void)state;
    char why[1024];
    struct tl_plugin *own = tl_plugin_open(SOUND, why, sizeof why);
    struct tl_plugin *given = tl_plugin_open(SOUND ",my-wheel", why, sizeof why);
    assert_non_null(own);
    assert_non_null(given);
    assert_string_equal(tl_plugin_algo(own)->name, "faulty-early");
    assert_string_equal(tl_plugin_algo(given)->name, "my-wheel");
    assert_string_equal(tl_plugin_file(given), SOUND);
    assert_ptr_equal(tl_plugin_algo(own)->create, tl_plugin_algo(given)->create);
    tl_plugin_close(own);
    tl_plugin_close(given);
    tl_plugin_close(NULL);
}

/* A comma may also belong to the file's name; a bare name means the current folder. */
static void commas_and_bare_names(void **state)
{
    (void)state;
    char why[1024];
    char folder[] = "/tmp/timerlab-plugin-XXXXXX";
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(symlink(SOUND, "my,wheel.so"), 0);
    struct tl_plugin *plain = tl_plugin_open("my,wheel.so", why, sizeof why);
    struct tl_plugin *named = tl_plugin_open("my,wheel.so,mine", why, sizeof why);
    assert_int_equal(unlink("my,wheel.so"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_non_null(plain);
    assert_non_null(named);
    assert_string_equal(tl_plugin_algo(plain)->name, "faulty-early");
    assert_string_equal(tl_plugin_algo(named)->name, "mine");
    tl_plugin_close(plain);
    tl_plugin_close(named);
}

static int make_copy_file(void **state)
{
    (void)state;
    int fd = mkstemp(copy_path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_copy_file(void **state)
{
    (void)state;
    return unlink(copy_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(names_are_the_file_s_or_the_caller_s),
        cmocka_unit_test(commas_and_bare_names),
    };
    return cmocka_run_group_tests(tests, make_copy_file, remove_copy_file);
}
