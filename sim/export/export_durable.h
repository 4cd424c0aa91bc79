/* export_durable.h: what writes a durable structure; see export.h. */
#ifndef SIM_EXPORT_EXPORT_DURABLE_H
#define SIM_EXPORT_EXPORT_DURABLE_H

#include "export.h"

/* The sources of the structure, PREFIX.h, PREFIX.c and example.c. `symbol`: of its descriptor, or of
 * the structure's that the front end wraps. */
bool export_write_durable(const struct export_request *request, const char *prefix,
                          const char *symbol, struct error *error);

#endif
