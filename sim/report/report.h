/*
 * report.h: folders of results as a page: the answer, faults, the table, pictures, figures, how it
 * was measured. Files that a folder lacks are missing from the page. A page has one of two forms:
 * HTML, in one file, or Markdown.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "error.h"
#include "result_set.h"
#include "tolerance.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One folder of results. */
struct report_set {
    const char *folder;
    char mark[RESULT_MARK_BYTES]; /* "A", "B", ... where there are several folders, else "" */
    json_t *context;              /* of results.json: an object, empty if there is none */
    json_t *bench_context;        /* of bench.json; NULL: there is none */
    char *commands;               /* commands.txt, "" if there is none */
    struct results rows;          /* of results.json */
    struct results bench;         /* of bench.json, or else of bench.csv */
    struct results faults;        /* of faults.csv */
};

struct report_data {
    struct report_set *sets;
    size_t set_count;
    json_t *cluster;    /* of check.json, sim.json and run.json of `timerlab cluster`, by `drive` */
    json_t *structures; /* those of the rows, by name: as `timerlab list --format json` has them */
};

/* Read the folders, which must outlive the data. False, with `error` set, if a folder has none of
 * results.json, bench.json, bench.csv and the cluster's files, or a file cannot be understood;
 * nothing is left to free then. */
bool report_data_read(struct report_data *data, const char *const *folders, size_t folder_count,
                      struct error *error);
void report_data_free(struct report_data *data);

extern const struct page_form page_html;
extern const struct page_form page_markdown;

/* Write the report. Structures that declare more lateness than `max_lateness` are not ranked.
 * `folder` is where the page will be; it holds pictures/ with pictures.csv, which lists them, if
 * there are any. False, with `error` set, if a picture cannot be read or the lateness cannot be
 * expressed in ticks. */
bool report_write(const struct report_data *data, const struct tolerance *max_lateness,
                  const char *folder, const struct page_form *form, FILE *stream,
                  struct error *error);

#endif
