#include "packet.h"

#include <pcap/dlt.h>
#include <string.h>

/* libpcap says DLT_RAW for what files call LINKTYPE_RAW on this system; both are accepted. */
#define LINKTYPE_RAW     101

#define ETHERTYPE_IPV4   0x0800u
#define ETHERTYPE_IPV6   0x86ddu
#define ETHERTYPE_VLAN   0x8100u
#define ETHERTYPE_SVLAN  0x88a8u
#define ETHERTYPE_QINQ   0x9100u
#define VLAN_TAGS_MAX    8u

#define PROTOCOL_TCP     6u
#define PROTOCOL_UDP     17u
#define IPV6_HOP_BY_HOP  0u
#define IPV6_ROUTING     43u
#define IPV6_FRAGMENT    44u
#define IPV6_AUTH        51u
#define IPV6_DESTINATION 60u
#define IPV6_HEADERS_MAX 16u

/* What is left of the captured bytes. */
struct rest {
    const uint8_t *at;
    size_t bytes;
    const char *why;
};

static enum packet_kind cut_short(struct rest *rest, const char *why)
{
    rest->why = why;
    return PACKET_CUT_SHORT;
}

static enum packet_kind malformed(struct rest *rest, const char *why)
{
    rest->why = why;
    return PACKET_MALFORMED;
}

static enum packet_kind other(struct rest *rest, const char *why)
{
    rest->why = why;
    return PACKET_OTHER;
}

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static void skip(struct rest *rest, size_t bytes)
{
    rest->at += bytes;
    rest->bytes -= bytes;
}

/* Names the flow: protocol, version, and the two ends with the smaller one first. */
static void name_flow(struct packet *packet, unsigned protocol, const uint8_t *source,
                      const uint8_t *destination, size_t address_bytes, const uint8_t *ports)
{
    uint8_t ends[2][18];
    size_t end_bytes = address_bytes + 2;
    memcpy(ends[0], source, address_bytes);
    memcpy(ends[0] + address_bytes, ports, 2);
    memcpy(ends[1], destination, address_bytes);
    memcpy(ends[1] + address_bytes, ports + 2, 2);
    packet->reversed = memcmp(ends[0], ends[1], end_bytes) > 0;
    packet->flow[0] = (uint8_t)protocol;
    packet->flow[1] = (uint8_t)address_bytes;
    memcpy(packet->flow + 2, ends[packet->reversed], end_bytes);
    memcpy(packet->flow + 2 + end_bytes, ends[!packet->reversed], end_bytes);
    packet->flow_bytes = (uint8_t)(2 + 2 * end_bytes);
}

/* What is in an IP packet. `ip_bytes` is how much the IP header says there is from here on. */
static enum packet_kind parse_transport(struct rest *rest, unsigned protocol, size_t ip_bytes,
                                        const uint8_t *source, const uint8_t *destination,
                                        size_t address_bytes, struct packet *packet)
{
    if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP) {
        return other(rest, "neither TCP nor UDP");
    }
    packet->tcp = protocol == PROTOCOL_TCP;
    size_t least = packet->tcp ? 20 : 8;
    if (ip_bytes < least) {
        return malformed(rest, "an IP packet too short for the header in it");
    }
    if (rest->bytes < (packet->tcp ? 14 : 4)) {
        return cut_short(rest, "cut off within the TCP or UDP header");
    }
    const uint8_t *header = rest->at;
    name_flow(packet, protocol, source, destination, address_bytes, header);
    if (!packet->tcp) {
        return PACKET_FLOW;
    }
    size_t header_bytes = (size_t)(header[12] >> 4) * 4;
    if (header_bytes < 20 || header_bytes > ip_bytes) {
        return malformed(rest, "a TCP header of impossible length");
    }
    packet->sequence = get32(header + 4);
    packet->acknowledged = get32(header + 8);
    packet->fin = (header[13] & 0x01) != 0;
    packet->syn = (header[13] & 0x02) != 0;
    packet->rst = (header[13] & 0x04) != 0;
    packet->ack = (header[13] & 0x10) != 0;
    packet->payload_bytes = (uint32_t)(ip_bytes - header_bytes);
    return PACKET_FLOW;
}

static enum packet_kind parse_ipv4(struct rest *rest, struct packet *packet)
{
    if (rest->bytes < 20) {
        return cut_short(rest, "cut off within the IPv4 header");
    }
    const uint8_t *header = rest->at;
    size_t header_bytes = (size_t)(header[0] & 15) * 4;
    size_t total_bytes = get16(header + 2);
    if (total_bytes == 0) {
        total_bytes = rest->bytes; /* the network card was to fill it in */
    }
    if (header_bytes < 20 || header_bytes > total_bytes) {
        return malformed(rest, "an IPv4 header of impossible length");
    }
    if ((get16(header + 6) & 0x1fff) != 0) {
        return other(rest, "not the first fragment of a packet");
    }
    if (rest->bytes < header_bytes) {
        return cut_short(rest, "cut off within the IPv4 header");
    }
    skip(rest, header_bytes);
    return parse_transport(rest, header[9], total_bytes - header_bytes, header + 12, header + 16, 4,
                           packet);
}

static enum packet_kind parse_ipv6(struct rest *rest, struct packet *packet)
{
    if (rest->bytes < 40) {
        return cut_short(rest, "cut off within the IPv6 header");
    }
    const uint8_t *header = rest->at;
    unsigned next = header[6];
    size_t left = get16(header + 4);
    skip(rest, 40);
    if (left == 0) {
        left = rest->bytes; /* a jumbogram, or the network card was to fill it in */
    }
    for (unsigned i = 0; i < IPV6_HEADERS_MAX; i++) {
        if (next != IPV6_HOP_BY_HOP && next != IPV6_ROUTING && next != IPV6_DESTINATION &&
            next != IPV6_FRAGMENT && next != IPV6_AUTH) {
            break;
        }
        if (rest->bytes < 8) {
            return cut_short(rest, "cut off within the IPv6 headers");
        }
        size_t bytes = next == IPV6_FRAGMENT ? 8
                       : next == IPV6_AUTH   ? ((size_t)rest->at[1] + 2) * 4
                                             : ((size_t)rest->at[1] + 1) * 8;
        if (next == IPV6_FRAGMENT && (get16(rest->at + 2) & 0xfff8) != 0) {
            return other(rest, "not the first fragment of a packet");
        }
        if (bytes > left) {
            return malformed(rest, "an IPv6 header of impossible length");
        }
        if (bytes > rest->bytes) {
            return cut_short(rest, "cut off within the IPv6 headers");
        }
        next = rest->at[0];
        left -= bytes;
        skip(rest, bytes);
    }
    return parse_transport(rest, next, left, header + 8, header + 24, 16, packet);
}

static enum packet_kind parse_ip(struct rest *rest, struct packet *packet)
{
    if (rest->bytes == 0) {
        return cut_short(rest, "nothing of it was captured");
    }
    switch (rest->at[0] >> 4) {
    case 4:
        return parse_ipv4(rest, packet);
    case 6:
        return parse_ipv6(rest, packet);
    default:
        return other(rest, "neither IPv4 nor IPv6");
    }
}

/* From an Ethernet type field on, with tags of virtual networks before the one that counts. */
static enum packet_kind parse_ethertype(struct rest *rest, struct packet *packet)
{
    for (unsigned i = 0; i <= VLAN_TAGS_MAX; i++) {
        if (rest->bytes < 2) {
            return cut_short(rest, "cut off within the link layer's header");
        }
        unsigned type = get16(rest->at);
        skip(rest, 2);
        if (type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6) {
            return parse_ip(rest, packet);
        }
        if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SVLAN && type != ETHERTYPE_QINQ) {
            break;
        }
        if (rest->bytes < 2) {
            return cut_short(rest, "cut off within the link layer's header");
        }
        skip(rest, 2);
    }
    return other(rest, "neither IPv4 nor IPv6");
}

/* Link layers: how many bytes stand before the Ethernet type, or before the IP header. */
static const struct {
    int link;
    bool typed; /* an Ethernet type follows the bytes; if not, an IP header does */
    size_t bytes;
} links[] = {
    {DLT_EN10MB, true, 12}, {DLT_LINUX_SLL, true, 14}, {DLT_NULL, false, 4},
    {DLT_LOOP, false, 4},   {DLT_RAW, false, 0},       {LINKTYPE_RAW, false, 0},
    {DLT_IPV4, false, 0},   {DLT_IPV6, false, 0},      {DLT_LINUX_SLL2, true, 0},
};

static size_t find_link(int link)
{
    size_t i = 0;
    while (i < sizeof links / sizeof links[0] && links[i].link != link) {
        i++;
    }
    return i;
}

bool packet_link_known(int link)
{
    return find_link(link) < sizeof links / sizeof links[0];
}

enum packet_kind packet_parse(int link, const uint8_t *data, size_t bytes, struct packet *packet,
                              const char **why)
{
    size_t row = find_link(link);
    struct rest rest = {.at = data, .bytes = bytes};
    enum packet_kind kind;
    if (row == sizeof links / sizeof links[0]) {
        kind = other(&rest, "of an unknown link layer");
    } else if (bytes < links[row].bytes) {
        kind = cut_short(&rest, "cut off within the link layer's header");
    } else if (link == DLT_LINUX_SLL2) {
        /* Its header has the type first and is 20 bytes long. */
        if (bytes < 20) {
            kind = cut_short(&rest, "cut off within the link layer's header");
        } else {
            unsigned type = get16(data);
            skip(&rest, 20);
            if (type == ETHERTYPE_VLAN || type == ETHERTYPE_SVLAN || type == ETHERTYPE_QINQ) {
                if (rest.bytes < 2) {
                    kind = cut_short(&rest, "cut off within the link layer's header");
                } else {
                    skip(&rest, 2); /* the tag */
                    kind = parse_ethertype(&rest, packet);
                }
            } else if (type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6) {
                kind = parse_ip(&rest, packet);
            } else {
                kind = other(&rest, "neither IPv4 nor IPv6");
            }
        }
    } else {
        skip(&rest, links[row].bytes);
        kind = links[row].typed ? parse_ethertype(&rest, packet) : parse_ip(&rest, packet);
    }
    *why = rest.why;
    return kind;
}
