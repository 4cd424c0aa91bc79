/*
 * amalgam.h: a C file of the structures with all that it includes, as one text, divided into its
 * declarations; and the set of declarations that some functions need.
 */
#ifndef SIM_EXPORT_AMALGAM_H
#define SIM_EXPORT_AMALGAM_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* A part of a longer text. */
struct piece {
    const char *at;
    size_t length;
};

struct piece piece_of(const char *text);
bool piece_equals(struct piece a, struct piece b);
bool piece_is(struct piece piece, const char *word);

enum item_kind {
    ITEM_COMMENT,   /* not before a declaration */
    ITEM_MACRO,     /* #define, #undef */
    ITEM_CONDITION, /* #if, #else, #endif that the compiler decides */
    ITEM_CODE,      /* a declaration or a definition */
};

struct item {
    enum item_kind kind;
    const char *file;     /* without folder */
    struct piece comment; /* right before it */
    struct piece text;
    size_t condition; /* ITEM_CONDITION: the index of its #if */
    bool kept;
};

/* Treat names as opaque. */
struct amalgam {
    char *text;
    struct item *items;
    size_t count;
    size_t room;
    struct item_name *names;
    size_t name_count;
    size_t name_room;
};

/* Read `file`, which is embedded in the program, and its includes in their places. Conditions on
 * macros of the sources are resolved: those in `defined`, a list that ends with NULL, are defined.
 * Conditions on predefined macros are kept. */
bool amalgam_read(struct amalgam *amalgam, const char *file, const char *const *defined,
                  struct error *error);

/* Keep the declarations of this name, and everything that they refer to. Return false if there is
 * none. */
bool amalgam_keep(struct amalgam *amalgam, struct piece name);

void amalgam_keep_none(struct amalgam *amalgam);

/* Also keep items that depend on kept ones: conditions around them, assertions about them. */
void amalgam_keep_around(struct amalgam *amalgam);

/* Return the item that defines this name, kept or not; NULL: none. */
const struct item *amalgam_find(const struct amalgam *amalgam, const char *name);

/* Return the last word of the value of a descriptor's designated member; length 0: not set. */
struct piece amalgam_member(struct piece descriptor, const char *member);

void amalgam_free(struct amalgam *amalgam);

/* --- words of C ------------------------------------------------------------------------------ */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_SIGN };

bool is_word_char(char c);

/* Read the next token at *at, and move *at after it; skip blanks and comments. */
enum token_kind token_next(const char **at, const char *end, struct piece *token);

/* Return the text of an embedded file, by its name without folder; NULL: none. */
const char *embedded_source(const char *file);

#endif
