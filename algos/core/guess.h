/* guess.h: the known name nearest to an unknown one. */
#ifndef ALGOS_GUESS_H
#define ALGOS_GUESS_H

#include <stdbool.h>
#include <stddef.h>

/* The nearest of the names that a given one was compared with. Begins as {.given = NAME}. */
struct tl_guess {
    const char *given;
    const char *nearest; /* NULL: none is near */
    size_t distance;     /* of the nearest: letters added, omitted, replaced or swapped */
    char text[160];
};

/* Whether `known`, which must outlast the guess, is the name given. If not, it may be the nearest. */
bool tl_guess_is(struct tl_guess *guess, const char *known);

/* Return the end of a refusal: "; did you mean 'NEAREST'?", or ";" if none of the names is near. The
 * command that lists all names follows it. */
const char *tl_guess_text(struct tl_guess *guess);

#endif
