#include "packet.h"

#include <net/ethernet.h>
#include <netinet/in.h>
#include <pcap/dlt.h>
#include <string.h>

/* libpcap maps this number of files to DLT_RAW on this system; both are accepted. */
#define LINKTYPE_RAW     101

/* In addition to those of the system's headers. */
#define ETHERTYPE_SVLAN  0x88a8u
#define ETHERTYPE_QINQ   0x9100u

#define VLAN_TAGS_MAX    8u
#define IPV6_HEADERS_MAX 16u

/* The captured bytes that are not parsed yet. */
struct rest {
    const uint8_t *at;
    size_t bytes;
    const char *why;
};

/* Set the reason; returns `kind`. */
static enum packet_kind because(struct rest *rest, enum packet_kind kind, const char *why)
{
    rest->why = why;
    return kind;
}

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static void skip_bytes(struct rest *rest, size_t bytes)
{
    rest->at += bytes;
    rest->bytes -= bytes;
}

/* Name the flow: protocol, version, and the two ends. */
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

/* `ip_bytes`: length of the rest of the packet, by the IP header. */
static enum packet_kind parse_transport(struct rest *rest, unsigned protocol, size_t ip_bytes,
                                        const uint8_t *source, const uint8_t *destination,
                                        size_t address_bytes, struct packet *packet)
{
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) {
        return because(rest, PACKET_OTHER, "neither TCP nor UDP");
    }
    packet->tcp = protocol == IPPROTO_TCP;
    size_t least = packet->tcp ? 20 : 8;
    if (ip_bytes < least) {
        return because(rest, PACKET_MALFORMED, "an IP packet too short for the header in it");
    }
    if (rest->bytes < (packet->tcp ? 14 : 4)) {
        return because(rest, PACKET_CUT_SHORT, "cut off within the TCP or UDP header");
    }
    const uint8_t *header = rest->at;
    name_flow(packet, protocol, source, destination, address_bytes, header);
    if (!packet->tcp) {
        return PACKET_FLOW;
    }
    size_t header_bytes = (size_t)(header[12] >> 4) * 4;
    if (header_bytes < 20 || header_bytes > ip_bytes) {
        return because(rest, PACKET_MALFORMED, "a TCP header of impossible length");
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
        return because(rest, PACKET_CUT_SHORT, "cut off within the IPv4 header");
    }
    const uint8_t *header = rest->at;
    size_t header_bytes = (size_t)(header[0] & 15) * 4;
    size_t total_bytes = get16(header + 2);
    if (total_bytes == 0) {
        total_bytes = rest->bytes; /* left to the network card to fill in */
    }
    if (header_bytes < 20 || header_bytes > total_bytes) {
        return because(rest, PACKET_MALFORMED, "an IPv4 header of impossible length");
    }
    if ((get16(header + 6) & 0x1fff) != 0) {
        return because(rest, PACKET_OTHER, "not the first fragment of a packet");
    }
    if (rest->bytes < header_bytes) {
        return because(rest, PACKET_CUT_SHORT, "cut off within the IPv4 header");
    }
    skip_bytes(rest, header_bytes);
    return parse_transport(rest, header[9], total_bytes - header_bytes, header + 12, header + 16, 4,
                           packet);
}

static enum packet_kind parse_ipv6(struct rest *rest, struct packet *packet)
{
    if (rest->bytes < 40) {
        return because(rest, PACKET_CUT_SHORT, "cut off within the IPv6 header");
    }
    const uint8_t *header = rest->at;
    unsigned next = header[6];
    size_t left = get16(header + 4);
    skip_bytes(rest, 40);
    if (left == 0) {
        left = rest->bytes; /* a jumbogram, or left to the network card to fill in */
    }
    for (unsigned i = 0; i < IPV6_HEADERS_MAX; i++) {
        if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
            next != IPPROTO_FRAGMENT && next != IPPROTO_AH) {
            break;
        }
        if (rest->bytes < 8) {
            return because(rest, PACKET_CUT_SHORT, "cut off within the IPv6 headers");
        }
        size_t bytes = next == IPPROTO_FRAGMENT ? 8
                       : next == IPPROTO_AH     ? ((size_t)rest->at[1] + 2) * 4
                                                : ((size_t)rest->at[1] + 1) * 8;
        if (next == IPPROTO_FRAGMENT && (get16(rest->at + 2) & 0xfff8) != 0) {
            return because(rest, PACKET_OTHER, "not the first fragment of a packet");
        }
        if (bytes > left) {
            return because(rest, PACKET_MALFORMED, "an IPv6 header of impossible length");
        }
        if (bytes > rest->bytes) {
            return because(rest, PACKET_CUT_SHORT, "cut off within the IPv6 headers");
        }
        next = rest->at[0];
        left -= bytes;
        skip_bytes(rest, bytes);
    }
    return parse_transport(rest, next, left, header + 8, header + 24, 16, packet);
}

static enum packet_kind parse_ip(struct rest *rest, struct packet *packet)
{
    if (rest->bytes == 0) {
        return because(rest, PACKET_CUT_SHORT, "nothing of it was captured");
    }
    switch (rest->at[0] >> 4) {
    case 4:
        return parse_ipv4(rest, packet);
    case 6:
        return parse_ipv6(rest, packet);
    default:
        return because(rest, PACKET_OTHER, "neither IPv4 nor IPv6");
    }
}

#define LINK_CUT_SHORT "cut off within the link layer's header"

static bool is_vlan(unsigned type)
{
    return type == ETHERTYPE_VLAN || type == ETHERTYPE_SVLAN || type == ETHERTYPE_QINQ;
}

/* After an Ethernet type; tags of virtual networks may precede the one of the packet. */
static enum packet_kind parse_ethertype(struct rest *rest, unsigned type, struct packet *packet)
{
    for (unsigned i = 0; i < VLAN_TAGS_MAX && is_vlan(type); i++) {
        if (rest->bytes < 4) {
            return because(rest, PACKET_CUT_SHORT, LINK_CUT_SHORT);
        }
        type = get16(rest->at + 2); /* after the tag */
        skip_bytes(rest, 4);
    }
    return type == ETHERTYPE_IP || type == ETHERTYPE_IPV6
               ? parse_ip(rest, packet)
               : because(rest, PACKET_OTHER, "neither IPv4 nor IPv6");
}

/* Link layers: the length of the header, and the place of the Ethernet type in it. */
static const struct link {
    int link;
    int type_at; /* below 0: there is none, and an IP header follows */
    size_t bytes;
} links[] = {
    {DLT_EN10MB, 12, 14}, {DLT_LINUX_SLL, 14, 16}, {DLT_NULL, -1, 4},
    {DLT_LOOP, -1, 4},    {DLT_RAW, -1, 0},        {LINKTYPE_RAW, -1, 0},
    {DLT_IPV4, -1, 0},    {DLT_IPV6, -1, 0},       {DLT_LINUX_SLL2, 0, 20},
};

static const struct link *find_link(int link)
{
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (links[i].link == link) {
            return &links[i];
        }
    }
    return NULL;
}

bool packet_link_known(int link)
{
    return find_link(link) != NULL;
}

static enum packet_kind parse_link(const struct link *link, struct rest *rest,
                                   struct packet *packet)
{
    if (link == NULL) {
        return because(rest, PACKET_OTHER, "of an unknown link layer");
    }
    if (rest->bytes < link->bytes) {
        return because(rest, PACKET_CUT_SHORT, LINK_CUT_SHORT);
    }
    const uint8_t *header = rest->at;
    skip_bytes(rest, link->bytes);
    return link->type_at < 0 ? parse_ip(rest, packet)
                             : parse_ethertype(rest, get16(header + link->type_at), packet);
}

enum packet_kind packet_parse(int link, const uint8_t *data, size_t bytes, struct packet *packet,
                              const char **why)
{
    struct rest rest = {.at = data, .bytes = bytes};
    enum packet_kind kind = parse_link(find_link(link), &rest, packet);
    *why = rest.why;
    return kind;
}
