#include "fault.h"

static const struct {
    const char *word;
    enum column column;
} kinds[] = {
#define FAULT_ROW(code, word, column, sentence) {word, column},
    FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

const char *fault_word(enum fault_kind kind)
{
    /* The kind may come from a child process that wrote garbage. */
    return kinds[(size_t)kind < FAULT_KINDS ? kind : FAULT_HARNESS].word;
}

enum column fault_column(enum fault_kind kind)
{
    return kinds[kind].column;
}
