/* Fuzzing target: option strings. The first byte selects the structure, the second the size of the
 * buffer for the refusal; the rest is the string. Accepted values must be in range, and equal after
 * they are written out and read. */
#include "fuzz.h"
#include "registry.h"

#include <string.h>

/* Write the values out, read them, and compare. */
static void write_and_read(const struct tl_algo *algo, const void *values, bool all)
{
    char text[2 * TL_TEXT_BYTES];
    int length = tl_options_format(algo, values, all, text, sizeof text);
    FUZZ_REQUIRE(length >= 0 && (size_t)length < sizeof text && strlen(text) == (size_t)length);
    TL_OPTION_VALUES(again);
    char why[256] = "";
    FUZZ_REQUIRE(tl_options_parse(algo, text, again, why, sizeof why) == TL_OK);
    FUZZ_REQUIRE(memcmp(values, again, sizeof again) == 0);

    /* Where there is too little room: the same length, and the beginning. */
    size_t room = (size_t)length / 2 + 1;
    char *part = malloc(room);
    FUZZ_REQUIRE(part != NULL);
    FUZZ_REQUIRE(tl_options_format(algo, values, all, part, room) == length);
    FUZZ_REQUIRE(strlen(part) < room && strncmp(part, text, strlen(part)) == 0);
    free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const struct tl_algo *algo = tl_registry_at(data[0] % tl_registry_count())->timed;
    /* Both of exactly their size, for the sanitizers. */
    size_t why_bytes = (size_t)data[1] + 1;
    char *why = calloc(1, why_bytes);
    char *text = strndup((const char *)data + 2, size - 2);
    FUZZ_REQUIRE(why != NULL && text != NULL);

    TL_OPTION_VALUES(values);
    enum tl_status status = tl_options_parse(algo, text, values, why, why_bytes);
    if (status == TL_OK) {
        for (size_t i = 0; i < tl_option_count(algo); i++) {
            const struct tl_option *option = &algo->options[i];
            FUZZ_REQUIRE(option->kind == TL_OPTION_TEXT ||
                         tl_option_accepts(option, tl_option_number(option, values)));
        }
        write_and_read(algo, values, true);
        write_and_read(algo, values, false);
    } else {
        FUZZ_REQUIRE(status == TL_ERR_OPTION);
        FUZZ_REQUIRE(memchr(why, '\0', why_bytes) != NULL);
        FUZZ_REQUIRE(why[0] != '\0' || why_bytes == 1);
    }
    free(text);
    free(why);
    return 0;
}
