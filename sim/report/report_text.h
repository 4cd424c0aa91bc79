/*
 * report_text.h: the texts of a report, which live in its pool. They may hold marks, which the page that they end up on turns into its own: text between two
 * MARK_CODE is code (a structure's name, a command), between two MARK_BOLD it is bold, between two
 * MARK_ITALIC in italics. MARK_LINK, an identifier of the page and a blank begin a link to it,
 * which ends at the next MARK_LINK. No text in UTF-8 holds these bytes, so that only the report
 * itself can mark.
 */
#ifndef SIM_REPORT_TEXT_H
#define SIM_REPORT_TEXT_H

#include "pool.h"

#define MARK_CODE   "\xF8"
#define MARK_BOLD   "\xF9"
#define MARK_ITALIC "\xFA"
#define MARK_LINK   "\xFB"

#endif
