#include "guess.h"

#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 64 }; /* that count of a known name */

/* Wagner and Fischer's table with Damerau's transpositions, of which three rows are needed. */
static size_t distance(const char *a, const char *b, size_t b_length)
{
    size_t rows[3][LETTERS_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    size_t i = 0;
    for (; a[i] != '\0'; i++) {
        const size_t *above = rows[i % 3];
        size_t *row = rows[(i + 1) % 3];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            size_t best = above[j] + (a[i] == b[j] ? 0 : 1);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = above[j + 1] + 1 < best ? above[j + 1] + 1 : best;
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
                size_t swapped = rows[(i + 2) % 3][j - 1] + 1;
                best = swapped < best ? swapped : best;
            }
            row[j + 1] = best;
        }
    }
    return rows[i % 3][b_length];
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
    /* One may be the beginning of the other: simulate, desc. */
    size_t shorter = given < length ? given : length;
    if (shorter >= 3 && letters > limit && strncmp(guess->given, known, shorter) == 0) {
        letters = limit;
    }
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
