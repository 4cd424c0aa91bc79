/*
 * packet.h: what of a captured packet matters to timers: whose it is, and what TCP says in it. IPv4
 * and IPv6, TCP and UDP, over the link layers that captures usually have.
 */
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest name of a flow, in bytes: protocol, version, two addresses, two ports. */
#define FLOW_NAME_BYTES_MAX 38u

struct packet {
    /* The two ends in a fixed order, so that both directions have the same name. */
    uint8_t flow[FLOW_NAME_BYTES_MAX];
    uint8_t flow_bytes;
    bool reversed; /* it goes from the second end to the first */
    bool tcp;      /* if not, it is UDP */
    /* TCP */
    bool syn;
    bool ack;
    bool fin;
    bool rst;
    uint32_t sequence;
    uint32_t acknowledged;
    uint32_t payload_bytes; /* as the headers say; not all of it need have been captured */
};

enum packet_kind {
    PACKET_FLOW,      /* TCP or UDP: the packet is filled in */
    PACKET_OTHER,     /* something else, or not the first fragment of a packet */
    PACKET_CUT_SHORT, /* too little was captured to decide */
    PACKET_MALFORMED, /* `why` says what is wrong */
};

/* Whether packets of that link type (libpcap's DLT_ number) can be taken apart. */
bool packet_link_known(int link);

/* Takes a packet apart, of which `bytes` were captured. `why` is set unless it is of a flow. */
enum packet_kind packet_parse(int link, const uint8_t *data, size_t bytes, struct packet *packet,
                              const char **why);

#endif
