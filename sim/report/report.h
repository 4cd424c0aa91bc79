/*
 * report.h: results as a page: who won and what it cost, the table, faults, pictures, figures, how
 * it was measured. The same for every form of page.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "report_data.h"
#include "report_page.h"
#include "tolerance.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the report, for who bears so much lateness. `folder` is where the page will be; it holds
 * pictures/ with pictures.csv, which lists them, if there are any. False, with `error` set, if a
 * picture cannot be read, the lateness cannot be told in ticks, or memory runs out. */
bool report_write(const struct report_data *data, const struct tolerance *max_lateness,
                  const char *folder, const struct page_form *form, FILE *stream,
                  struct error *error);

#endif
