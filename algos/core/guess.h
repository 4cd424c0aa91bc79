/* guess.h: what somebody means who gives a name that is not known. */
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

/* Whether `known`, which must outlast the guess, is the name given. If not, it may be what is
 * meant. */
bool tl_guess_is(struct tl_guess *guess, const char *known);

/* How a sentence goes on that refuses the name: "; did you mean 'NEAREST'?", or ";" where none of
 * the names is near. After it stands what shows all of them. */
const char *tl_guess_text(struct tl_guess *guess);

#endif
