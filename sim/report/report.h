/*
 * report.h: results as a page: the answer, faults, the table, pictures, figures, how it was
 * measured. The same for every form of page.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "report_data.h"
#include "report_page.h"
#include "tolerance.h"

#include <stdbool.h>
#include <stdio.h>

/* Write the report. Structures that declare more lateness than `max_lateness` are not ranked.
 * `folder` is where the page will be; it holds pictures/ with pictures.csv, which lists them, if
 * there are any. False, with `error` set, if a picture cannot be read or the lateness cannot be
 * expressed in ticks. */
bool report_write(const struct report_data *data, const struct tolerance *max_lateness,
                  const char *folder, const struct page_form *form, FILE *stream,
                  struct error *error);

#endif
