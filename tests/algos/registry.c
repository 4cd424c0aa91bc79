/* The registry, descriptor validation and option strings. */
#include "registry.h"

#include "guess.h"
#include "test.h"

#include <string.h>

static void every_descriptor_is_valid(void **state)
{
    (void)state;
    assert_true(tl_registry_count() > 0);
    for (size_t i = 0; i < tl_registry_count(); i++) {
        char why[512];
        const struct tl_entry *entry = tl_registry_at(i);
        assert_int_equal(tl_algo_validate(entry->timed, why, sizeof why), TL_OK);
        assert_int_equal(tl_algo_validate(entry->counted, why, sizeof why), TL_OK);
        assert_string_equal(entry->timed->name, entry->counted->name);
        assert_ptr_not_equal(entry->timed, entry->counted);
        if (entry->embedded != NULL) {
            assert_int_equal(tl_algo_validate(entry->embedded, why, sizeof why), TL_OK);
            assert_string_equal(entry->timed->name, entry->embedded->name);
        }
        assert_ptr_equal(tl_registry_find(entry->timed->name), entry);
    }
    assert_null(tl_registry_at(tl_registry_count()));
    assert_null(tl_registry_find("no-such-structure"));
}

/* A structure with an original describes its differences, after "in: "; yardsticks and our own
 * structures have no original. */
static void who_names_an_original_says_in_what_it_differs(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        bool own = strncmp(algo->origin, "our own", 7) == 0;
        if (algo->differs == NULL && !own && (algo->capabilities & TL_CAP_BASELINE) == 0) {
            fail_msg("%s is after %s, and does not say in what it differs", algo->name,
                     algo->origin);
        }
        if (algo->differs != NULL) {
            size_t length = strlen(algo->differs);
            bool sentence = length > 0 && algo->differs[length - 1] == '.' &&
                            (algo->differs[0] < 'A' || algo->differs[0] > 'Z');
            if (!sentence) {
                fail_msg("what %s says of its differences is to go on after a colon and to end "
                         "with a stop: \"%s\"",
                         algo->name, algo->differs);
            }
        }
    }
}

static void validation_names_what_is_missing(void **state)
{
    (void)state;
    char why[512];
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.stop = NULL;
    algo.summary = "";
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "missing hook: stop"));
    assert_non_null(strstr(why, "missing text: summary"));

    algo = *tl_registry_find("ordered-list")->timed;
    algo.next = NULL;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "`next`"));

    algo = *tl_registry_find("ordered-list")->timed;
    algo.abi = TL_ABI + 1;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "abi 2 where this timerlab has 1"));
}

static void validate_embedding(size_t embedded_bytes, bool has_moved, const char *complaint)
{
    char why[512];
    struct tl_algo algo = *tl_entry_for_records(tl_registry_find("ordered-list"));
    algo.embedded_bytes = embedded_bytes;
    algo.moved = has_moved ? algo.moved : NULL;
    enum tl_status status = tl_algo_validate(&algo, why, sizeof why);
    if (complaint == NULL) {
        assert_int_equal(status, TL_OK);
    } else {
        assert_int_equal(status, TL_ERR_DESCRIPTOR);
        assert_non_null(strstr(why, complaint));
    }
}

/* A structure that takes records has a hook for their move. */
static void embedding_is_validated(void **state)
{
    (void)state;
    validate_embedding(16, true, NULL);
    validate_embedding(0, false, NULL);
    validate_embedding(16, false, "moved and embedded_bytes go together");
    validate_embedding(0, true, "moved and embedded_bytes go together");
    validate_embedding(12, true, "not a multiple of 8");
}

/* If it takes records in any build, then in that one. */
static void records_are_for_the_embedded_build(void **state)
{
    (void)state;
    size_t takers = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *entry = tl_registry_at(i);
        const struct tl_algo *algo = tl_entry_for_records(entry);
        assert_true(algo == NULL || algo == entry->embedded);
        assert_true(entry->timed->embedded_bytes == 0 || algo != NULL);
        takers += algo != NULL;
    }
    assert_true(takers >= 30);
}

static enum tl_status sync_nothing(void *self, uint64_t *durable_sequence)
{
    (void)self;
    *durable_sequence = 0;
    return TL_OK;
}

static enum tl_status recover_nothing(void *self, tl_adopt_fn adopt, void *ctx)
{
    (void)self;
    (void)adopt;
    (void)ctx;
    return TL_OK;
}

static void no_durability(const void *self, struct tl_durability *out)
{
    (void)self;
    *out = (struct tl_durability){0};
}

/* A durable structure has all three hooks and an option `path`. */
static void durability_is_validated(void **state)
{
    (void)state;
    struct folder {
        char path[TL_TEXT_BYTES];
        uint64_t number;
    };
    static const struct tl_option path[] = {
        {"path", TL_TEXT(struct folder, path), 0, 0, 0, NULL, "where it keeps its timers"}, {0}};
    static const struct tl_option number[] = {
        {"path", TL_U64(struct folder, number), 0, 0, 3, NULL, "which folder of three"}, {0}};
    static const struct tl_option by_default[] = {
        {"path", TL_TEXT(struct folder, path), 1, 0, 0, NULL, "a default"}, {0}};
    char why[512];
    struct tl_algo whole = *tl_registry_find("ordered-list")->timed;
    whole.capabilities |= TL_CAP_DURABLE;
    whole.options = path;
    whole.options_bytes = sizeof(struct folder);
    whole.sync = sync_nothing;
    whole.recover = recover_nothing;
    whole.durability = no_durability;
    assert_int_equal(tl_algo_validate(&whole, why, sizeof why), TL_OK);

    struct tl_algo algo = whole;
    algo.sync = NULL;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_string_equal(why, "the capability `durable` goes together with the hook sync");
    algo = whole;
    algo.capabilities &= ~(uint32_t)TL_CAP_DURABLE;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "goes together with the hook durability"));
    const struct tl_option *const wrong[] = {NULL, number, by_default};
    const char *const complaints[] = {"needs a text option `path`", "needs a text option `path`",
                                      "in the option path"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        algo = whole;
        algo.options = wrong[i];
        assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
        assert_non_null(strstr(why, complaints[i]));
    }
}

/* A text is copied into the values. */
static void options_may_be_texts(void **state)
{
    (void)state;
    struct kept {
        uint32_t batch;
        char path[TL_TEXT_BYTES];
    };
    static const struct tl_option rows[] = {
        {"path", TL_TEXT(struct kept, path), 0, 0, 0, NULL, "where"},
        {"batch", TL_U32(struct kept, batch), 8, 1, 99, NULL, "how many"},
        {0}};
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.options = rows;
    algo.options_bytes = sizeof(struct kept);
    assert_ptr_equal(tl_option_find(rows, "batch"), &rows[1]);
    assert_null(tl_option_find(rows, "bat"));
    char why[512];
    char text[200];
    TL_OPTION_VALUES(values);
    const struct kept *kept = (const void *)values;
    assert_int_equal(tl_options_parse(&algo, "", values, why, sizeof why), TL_OK);
    assert_string_equal(kept->path, "");
    (void)tl_options_format(&algo, values, true, text, sizeof text);
    assert_string_equal(text, "batch=8");
    const char *given =
        "path=/a/folder with spaces/=that has a long name, longer than any number is:"
        "batch=9";
    assert_int_equal(tl_options_parse(&algo, given, values, why, sizeof why), TL_OK);
    assert_string_equal(kept->path,
                        "/a/folder with spaces/=that has a long name, longer than any number is");
    assert_int_equal(kept->batch, 9);
    (void)tl_options_format(&algo, values, false, text, sizeof text);
    assert_string_equal(text, given);
    TL_OPTION_VALUES(again);
    assert_int_equal(tl_options_parse(&algo, given, again, why, sizeof why), TL_OK);
    assert_memory_equal(values, again, sizeof values);
    assert_int_equal(tl_options_parse(&algo, "path=:batch=9", values, why, sizeof why),
                     TL_ERR_OPTION);
    assert_non_null(strstr(why, "it takes a text of 1 to 1023 bytes"));
    char long_path[TL_TEXT_BYTES + 8] = "path=";
    memset(long_path + 5, 'a', TL_TEXT_BYTES - 1);
    assert_int_equal(tl_options_parse(&algo, long_path, values, why, sizeof why), TL_OK);
    memset(long_path + 5, 'a', TL_TEXT_BYTES);
    assert_int_equal(tl_options_parse(&algo, long_path, values, why, sizeof why), TL_ERR_OPTION);
}

/* Each type of member receives its value; a descriptor with members beyond the struct is
 * refused. */
static void options_have_types(void **state)
{
    (void)state;
    struct typed {
        uint32_t slots;
        uint64_t wide;
        uint64_t room;
        double share;
        uint64_t tick;
    };
    struct tl_option rows[] = {
        {"slots", TL_U32(struct typed, slots), 8, 1, UINT32_MAX, NULL, "how many"},
        {"wide", TL_U64(struct typed, wide), 1, 0, 0x1p63, NULL, "a large number"},
        {"room", TL_BYTES(struct typed, room), 4096, 1, 0x1p40, NULL, "bytes"},
        {"share", TL_REAL(struct typed, share), 0.5, 0, 1, NULL, "a share"},
        {"tick", TL_TICKS(struct typed, tick), 1, 1, 100, NULL, "ticks"},
        {0}};
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.options = rows;
    algo.options_bytes = sizeof(struct typed);
    char why[512];
    char text[200];
    TL_OPTION_VALUES(values);
    const struct typed *typed = (const void *)values;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_OK);
    assert_int_equal(tl_options_parse(&algo, "slots=4294967295:wide=1e18:room=1.5GiB:share=0.25",
                                      values, why, sizeof why),
                     TL_OK);
    assert_int_equal(typed->slots, UINT32_MAX);
    assert_true(typed->wide == UINT64_C(1000000000000000000));
    assert_true(typed->room == UINT64_C(3) << 29);
    assert_true(typed->share == 0.25);
    assert_int_equal(typed->tick, 1);
    (void)tl_options_format(&algo, values, true, text, sizeof text);
    assert_string_equal(text, "slots=4294967295:wide=1000000000000000000:room=1610612736:"
                              "share=0.25:tick=1");
    static const char *const wrong[] = {"share=2", "share=x", "room=1 MB", "tick=101", "wide=-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tl_options_parse(&algo, wrong[i], values, why, sizeof why), TL_ERR_OPTION);
    }
    rows[0].max = 0x1p32;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "a range that the member cannot hold, in the option slots"));
    rows[0].max = UINT32_MAX;
    rows[4].offset = sizeof(struct typed) - 4;
    assert_int_equal(tl_algo_validate(&algo, why, sizeof why), TL_ERR_DESCRIPTOR);
    assert_non_null(strstr(why, "not within options_bytes: the option tick"));
}

static const struct tl_choice slot_words[] = {{"auto", 0, "fits"}, {NULL, 0, NULL}};
static const struct tl_choice rounding_words[] = {
    {"floor", 0, "down"}, {"ceil", 1, "up"}, {NULL, 0, NULL}};
struct example_options {
    uint32_t slots;
    uint32_t rounding;
};
static const struct tl_option example_option_table[] = {
    {"slots", TL_U32(struct example_options, slots), 0, 1, 1 << 30, slot_words, "how many"},
    {"rounding", TL_CHOICE(struct example_options, rounding), 0, 0, 0, rounding_words, "which way"},
    {0},
};

static void option_strings_are_parsed_and_refused(void **state)
{
    (void)state;
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.options = example_option_table;
    algo.options_bytes = sizeof(struct example_options);
    char why[512];
    TL_OPTION_VALUES(values);
    const struct example_options *read = (const void *)values;
    assert_int_equal(tl_options_parse(&algo, "", values, why, sizeof why), TL_OK);
    assert_int_equal(read->slots, 0);
    assert_int_equal(tl_options_parse(&algo, "slots=4Ki:rounding=ceil", values, why, sizeof why),
                     TL_OK);
    assert_int_equal(read->slots, 4096);
    assert_int_equal(read->rounding, 1);
    char text[100];
    (void)tl_options_format(&algo, values, false, text, sizeof text);
    assert_string_equal(text, "slots=4096:rounding=ceil");
    tl_options_default(&algo, values);
    (void)tl_options_format(&algo, values, false, text, sizeof text);
    assert_string_equal(text, "");
    (void)tl_options_format(&algo, values, true, text, sizeof text);
    assert_string_equal(text, "slots=auto:rounding=floor");

    static const struct {
        const char *text;
        const char *complaint;
    } wrong[] = {
        {"slot=3", "did you mean 'slots'?"},
        {"slots", "not of the form option=value"},
        {"slots=", "1 to 1073741824, or auto"},
        {"slots=-1", "1 to 1073741824, or auto"},
        {"slots=12x", "slots=12x is not usable"},
        {"slots=3:slots=3", "slots is given twice"},
        {"slots=99999999999999999999", "is not usable"},
        {"slots=9000000000g", "is not usable"},
        {"rounding=1", "floor, or ceil"},
        {"slots=3:", "nothing follows"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tl_options_parse(&algo, wrong[i].text, values, why, sizeof why),
                         TL_ERR_OPTION);
        assert_non_null(strstr(why, wrong[i].complaint));
    }
}

static void memory_is_counted_and_limited(void **state)
{
    (void)state;
    struct tl_memory memory;
    tl_counting_allocator(&memory, tl_system_allocator());
    void *a = tl_alloc(&memory.allocator, 100, 64);
    assert_non_null(a);
    assert_int_equal((uintptr_t)a % 64, 0);
    memset(a, 7, 100);
    a = memory.allocator.resize(memory.allocator.ctx, a, 100, 1000, 64);
    assert_non_null(a);
    assert_int_equal(((unsigned char *)a)[99], 7);
    assert_int_equal(memory.bytes, 1000);
    memory.limit_bytes = 1500;
    assert_null(tl_alloc(&memory.allocator, 501, 8));
    assert_null(memory.allocator.resize(memory.allocator.ctx, a, 1000, 1501, 64));
    tl_free(&memory.allocator, a, 1000, 64);
    assert_int_equal(memory.bytes, 0);
    assert_int_equal(memory.peak_bytes, 1000);
    assert_int_equal(memory.allocations, 2);
}

static void a_name_is_guessed_only_if_it_is_near(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        const char *goes_on;
    } cases[] = {
        {"hier-whel", "; did you mean 'hier-wheel'?"},
        {"heir-wheel", "; did you mean 'hier-wheel'?"},
        {"abcde", "; did you mean 'abc'?"},  /* the beginning is equal, to a third, rounded up */
        {"abcdef", "; did you mean 'abc'?"}, /* begins with it */
        {"hier", "; did you mean 'hier-wheel'?"},
        {"acb", "; did you mean 'abc'?"}, /* letters that are swapped are one mistake */
        {"abxxxxx", ";"},
        {"ab", "; did you mean 'abc'?"},
        {"axx", ";"},
        {"", ";"},
        {"nothing", ";"},
        {"hier-weels", "; did you mean 'hier-wheels'?"}, /* it comes later, but is nearer */
        {"hier-wheelx", "; did you mean 'hier-wheel'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tl_guess guess = {.given = cases[i].given};
        assert_false(tl_guess_is(&guess, "go-heap"));
        assert_false(tl_guess_is(&guess, "hier-wheel"));
        assert_false(tl_guess_is(&guess, "abc"));
        assert_false(tl_guess_is(&guess, "hier-wheels"));
        assert_string_equal(tl_guess_text(&guess), cases[i].goes_on);
    }
    struct tl_guess guess = {.given = "abc"};
    assert_true(tl_guess_is(&guess, "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_descriptor_is_valid),
        cmocka_unit_test(who_names_an_original_says_in_what_it_differs),
        cmocka_unit_test(validation_names_what_is_missing),
        cmocka_unit_test(embedding_is_validated),
        cmocka_unit_test(records_are_for_the_embedded_build),
        cmocka_unit_test(durability_is_validated),
        cmocka_unit_test(options_may_be_texts),
        cmocka_unit_test(options_have_types),
        cmocka_unit_test(option_strings_are_parsed_and_refused),
        cmocka_unit_test(memory_is_counted_and_limited),
        cmocka_unit_test(a_name_is_guessed_only_if_it_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
