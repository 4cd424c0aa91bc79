#include "guess.h"

#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 64 }; /* that count of a known name */

/* Wagner and Fischer's table, one row at a time. */
static size_t distance(const char *a, const char *b, size_t b_length)
{
    size_t row[LETTERS_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            size_t best = row[j] + 1 < row[j + 1] + 1 ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best < replaced ? best : replaced;
        }
    }
    return row[b_length];
}

bool tl_guess_is(struct tl_guess *guess, const char *known)
{
    if (strcmp(guess->given, known) == 0) {
        return true;
    }
    size_t given = strlen(guess->given);
    size_t length = strnlen(known, LETTERS_MAX);
    size_t letters = distance(guess->given, known, length);
    /* As clang has it: beyond a third of the longer one they have less in common than by chance. */
    size_t limit = ((given > length ? given : length) + 2) / 3;
    if (letters <= limit && (guess->nearest == NULL || letters < guess->distance)) {
        guess->nearest = known;
        guess->distance = letters;
    }
    return false;
}

const char *tl_guess_text(struct tl_guess *guess)
{
    if (guess->nearest == NULL) {
        return ";";
    }
    (void)snprintf(guess->text, sizeof guess->text, "; did you mean '%s'?", guess->nearest);
    return guess->text;
}
