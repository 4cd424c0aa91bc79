/*
 * amalgam.h: a C file of the structures with all that it includes, as one text, divided into its
 * declarations; and the set of declarations that some functions need.
 */
#ifndef SIM_EXPORT_AMALGAM_H
#define SIM_EXPORT_AMALGAM_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a longer text. */
struct piece {
    const char *at;
    size_t length;
};

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
    bool omitted; /* cannot be kept */
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

/* Read `file`, which is embedded in the program, and its includes in their places, those of other
 * files omitted. Conditions on macros of the sources are resolved; TL_EMBEDDED is defined if
 * `intrusive`. Conditions on predefined macros are kept. */
void amalgam_read(struct amalgam *amalgam, const char *file, bool intrusive);

/* Keep the declarations of this name, and everything that they refer to. Return false if there is
 * none. */
bool amalgam_keep(struct amalgam *amalgam, struct piece name);

void amalgam_keep_none(struct amalgam *amalgam);

/* Also keep the directives of conditions in which anything is kept. */
void amalgam_keep_conditions(struct amalgam *amalgam);

/* Never keep a declaration of this name. Return its definition, NULL if there is none. */
const struct item *amalgam_omit(struct amalgam *amalgam, const char *name);

/* Return the function of the structure's hook; length 0: none. */
struct piece amalgam_hook(const struct amalgam *amalgam, const char *hook);

void amalgam_free(struct amalgam *amalgam);

/* --- words of C ------------------------------------------------------------------------------ */

bool is_word_char(char c);

/* Return whether the code in a text, which ends with NUL, has that word, right after `before` unless
 * that is NULL. Comments do not count. */
bool code_has(const char *text, const char *before, const char *word);

/* Return the text of an embedded file, by its name without folder; NULL: none. */
const char *embedded_source(const char *file);

#endif
