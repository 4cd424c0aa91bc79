/*
 * log_known.h: the named formats of web servers' logs, their detection by the first line, and the
 * meaning of their fields.
 */
#ifndef SIM_LOG_KNOWN_H
#define SIM_LOG_KNOWN_H

#include "error.h"
#include "log_import.h"

#include <stdbool.h>
#include <stddef.h>

#define LOG_KNOWN_NAMES                                                                            \
    "common, combined, vhost, squid, haproxy, envoy, w3c (IIS, CloudFront), alb (AWS), caddy, "    \
    "traefik, envoy-json"

struct log_known {
    const char *name;
    const char *format; /* of log_format.h; NULL: a table, or JSON */
    const char *time;   /* the fields of a table or of JSON, separated by commas */
    const char *client;
    const char *durations;
    uint64_t unit_ns; /* of the durations */
    bool at_end;      /* the time is that of the request's end */
    bool has_port;    /* the client is an address and a port */
};

/* Return the format of that name, or NULL. */
const struct log_known *log_known_find(const char *name);

/* Return the format of a first line, "common" if no other fits. */
const struct log_known *log_known_guess(const char *text, size_t length);

/* Complete a plan. `key` names the fields of the key; NULL: the client's address. */
bool log_known_use(const struct log_known *known, struct log_plan *plan, const char *key,
                   struct error *error);

/* Likewise, for a format of a server's configuration (log_format.h). */
bool log_format_use(const char *format, struct log_plan *plan, const char *key,
                    struct error *error);

#endif
