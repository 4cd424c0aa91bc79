/* export_durable.h: export of a durable structure; see export.h. */
#ifndef SIM_EXPORT_EXPORT_DURABLE_H
#define SIM_EXPORT_EXPORT_DURABLE_H

#include "export.h"

/* Write the sources of the structure, PREFIX.h, PREFIX.c and example.c. `symbol` is that of its
 * descriptor, or of the structure in the front end. */
bool export_write_durable(const struct export_request *request, const char *prefix,
                          const char *symbol, struct error *error);

#endif
