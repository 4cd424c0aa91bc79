/*
 * amalgam.h: a C file of the structures with all that it includes, as one text, cut into its
 * declarations; and which of them are needed to call some of its functions.
 *
 * Made for sources in this house's format, not for any C: declarations begin in the first column,
 * and what a macro declares at file level is known by name only.
 */
#ifndef SIM_EXPORT_AMALGAM_H
#define SIM_EXPORT_AMALGAM_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* Some characters of a longer text. */
struct piece {
    const char *at;
    size_t length;
};

bool piece_is(struct piece piece, const char *word);

enum item_kind {
    ITEM_COMMENT,   /* one that stands alone */
    ITEM_MACRO,     /* #define, #undef */
    ITEM_CONDITION, /* #if, #else, #endif of what only the compiler can say */
    ITEM_CODE,      /* a declaration or a definition */
};

struct item {
    enum item_kind kind;
    const char *file;     /* it is in; its name without folder */
    struct piece comment; /* that stands right before it */
    struct piece text;
    size_t condition; /* ITEM_CONDITION: the item of its #if */
    bool kept;
};

/* Treat names as opaque. */
struct amalgam {
    char *text;
    struct item *items;
    size_t count;
    struct item_name *names;
    size_t name_count;
};

/* Reads `file`, which is embedded in the program, with what it includes, where it includes it. What
 * is conditional on the house's own macros is resolved, as if of them those in `defined`, a list
 * that ends with NULL, were defined; what the compiler predefines is left to it. */
bool amalgam_read(struct amalgam *amalgam, const char *file, const char *const *defined,
                  struct error *error);

/* Keeps what declares this name, and whatever that refers to. False if nothing does. */
bool amalgam_keep(struct amalgam *amalgam, struct piece name);

/* Also what only makes sense with what is kept by now: conditions around it, assertions on it. */
void amalgam_keep_around(struct amalgam *amalgam);

/* The item with the definition of that name, of a kept one or not; NULL: none. */
const struct item *amalgam_find(const struct amalgam *amalgam, const char *name);

/* The name that a descriptor's designated member is set to, its last word; length 0: it is not. */
struct piece amalgam_member(struct piece descriptor, const char *member);

void amalgam_free(struct amalgam *amalgam);

/* --- words of C ------------------------------------------------------------------------------ */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_SIGN };

/* The next token at *at, which is moved after it; blanks and comments are passed over. */
enum token_kind token_next(const char **at, const char *end, struct piece *token);

/* The text of an embedded file by its name without folder; NULL: there is none. */
const char *embedded_source(const char *file);

#endif
