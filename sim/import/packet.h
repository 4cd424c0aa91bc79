/*
 * packet.h: parses captured packets as far as timers need it: the flow, and the header of TCP. IPv4
 * and IPv6, TCP and UDP, over the usual link layers of captures.
 */
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest name of a flow, in bytes: protocol, version, two addresses, two ports. */
#define FLOW_NAME_BYTES_MAX 38u

struct packet {
    /* The two ends, the smaller one first, so that both directions have the same name. */
    uint8_t flow[FLOW_NAME_BYTES_MAX];
    uint8_t flow_bytes;
    bool reversed; /* from the second end to the first */
    bool tcp;      /* if not, it is UDP */
    /* TCP */
    bool syn;
    bool ack;
    bool fin;
    bool rst;
    uint32_t sequence;
    uint32_t acknowledged;
    uint32_t payload_bytes; /* by the headers, even if it was captured in part */
};

enum packet_kind {
    PACKET_FLOW,      /* TCP or UDP: the packet is filled in */
    PACKET_OTHER,     /* another protocol, or not the first fragment of a packet */
    PACKET_CUT_SHORT, /* too little was captured to decide */
    PACKET_MALFORMED,
};

/* Return whether packet_parse knows that link type (libpcap's DLT_ number). */
bool packet_link_known(int link);

/* Parse a packet, of which `bytes` were captured. Sets *why to the reason unless it is of a
 * flow. */
enum packet_kind packet_parse(int link, const uint8_t *data, size_t bytes, struct packet *packet,
                              const char **why);

#endif
