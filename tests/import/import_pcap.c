/* Importing captures that are made here, byte by byte: link layers, both versions of IP, packets
 * that are cut off, and TCP's numbers for a retransmission timer. */
#include "import_run.h"
#include "packet.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

/* --- bytes ------------------------------------------------------------------------------------ */

struct bytes {
    uint8_t at[8192];
    size_t count;
};

static void put(struct bytes *bytes, uint64_t value, unsigned count)
{
    for (; count > 8; count--) {
        bytes->at[bytes->count++] = 0;
    }
    for (unsigned i = 0; i < count; i++) { /* the network's order */
        bytes->at[bytes->count++] = (uint8_t)(value >> (8 * (count - 1 - i)));
    }
}

#define SYN 0x02u
#define ACK 0x10u
#define FIN 0x01u
#define RST 0x04u

/* An IPv4 packet of TCP from host `from` to host `to`, with 40 bytes of headers. */
static void put_tcp(struct bytes *bytes, unsigned from, unsigned to, uint32_t sequence,
                    uint32_t acknowledged, unsigned flags, unsigned payload)
{
    put(bytes, 0x4500, 2);
    put(bytes, 40 + payload, 2);
    put(bytes, 0, 4);
    put(bytes, 0x4006, 2);
    put(bytes, 0, 2);
    put(bytes, 0x0a000000 + from, 4);
    put(bytes, 0x0a000000 + to, 4);
    put(bytes, 1000 + from, 2);
    put(bytes, 1000 + to, 2);
    put(bytes, sequence, 4);
    put(bytes, acknowledged, 4);
    put(bytes, 0x5000 | flags, 2);
    put(bytes, 0, 6);
    put(bytes, 0, payload < 8 ? payload : 8);
}

static void put_capture_header(struct bytes *bytes, unsigned link)
{
    put(bytes, 0xa1b23c4d, 4); /* nanoseconds */
    put(bytes, 0x00020004, 4);
    put(bytes, 0, 8);
    put(bytes, 65535, 4);
    put(bytes, link, 4);
}

static void put_record(struct bytes *bytes, uint64_t time_ms, const struct bytes *packet,
                       size_t captured)
{
    put(bytes, time_ms / 1000, 4);
    put(bytes, time_ms % 1000 * 1000000, 4);
    put(bytes, captured, 4);
    put(bytes, packet->count, 4);
    memcpy(bytes->at + bytes->count, packet->at, captured);
    bytes->count += captured;
}

static struct import_run run_capture(const struct bytes *bytes, const char *const *settings)
{
    return import_run("pcap", temporary_file("some.pcap", bytes->at, bytes->count), settings);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* Parse a copy of exactly its size, to detect a read beyond its end. */
static enum packet_kind parse(int link, const struct bytes *bytes, size_t count,
                              struct packet *packet)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes->at, count);
    const char *why = NULL;
    enum packet_kind kind = packet_parse(link, copy, count, packet, &why);
    assert_int_equal(kind == PACKET_FLOW, why == NULL);
    free(copy);
    return kind;
}

static const struct {
    int link;
    const char *header; /* hexadecimal */
    bool v6;
} heads[] = {
    {1, "ffffffffffff0000000000010800", false},
    {1,
     "ffffffffffff00000000000181000005"
     "0800",
     false},
    {1,
     "ffffffffffff00000000000188a80005"
     "81000007"
     "0800",
     false},
    {1, "ffffffffffff00000000000186dd", true},
    {113,
     "000000010006000000000001"
     "0000"
     "0800",
     false},
    {276, "0800000000000001000100060000000000010000", false},
    {276,
     "81000000000000010001000600000000000100000005"
     "0800",
     false},
    {0, "02000000", false},
    {0, "1c000000", true},
    {108, "00000002", false},
    {101, "", false},
    {12, "", true},
    {228, "", false},
    {229, "", true},
};

static void put_hex(struct bytes *bytes, const char *digits)
{
    for (; digits[0] != '\0'; digits += 2) {
        unsigned value;
        assert_int_equal(sscanf(digits, "%2x", &value), 1);
        put(bytes, value, 1);
    }
}

/* The same TCP segment in IPv6, after four extension headers. */
static void put_tcp6(struct bytes *bytes)
{
    put(bytes, 0x60000000, 4);
    put(bytes, 8 + 8 + 8 + 24 + 20 + 5, 2);
    put(bytes, 0x0040, 2);
    for (unsigned end = 1; end <= 2; end++) {
        put(bytes, 0x20010db8, 4);
        put(bytes, 0, 8);
        put(bytes, end, 4);
    }
    put(bytes, 0x2b00000000000000, 8); /* hop by hop; a routing header follows */
    put(bytes, 0x2c00000000000000, 8); /* a fragment header follows, */
    put(bytes, 0x3300000100000000, 8); /* of a first fragment; authentication follows, */
    put(bytes, 0x0604000000000000, 8); /* of 6 times 4 bytes */
    put(bytes, 0, 8);
    put(bytes, 0, 8);
    struct bytes v4 = {.count = 0};
    put_tcp(&v4, 1, 2, 100, 200, ACK, 5);
    memcpy(bytes->at + bytes->count, v4.at + 20, v4.count - 20);
    bytes->count += v4.count - 20;
}

static void link_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct bytes bytes = {.count = 0};
        struct packet packet;
        put_hex(&bytes, heads[i].header);
        if (heads[i].v6) {
            put_tcp6(&bytes);
        } else {
            put_tcp(&bytes, 1, 2, 100, 200, ACK, 5);
        }
        assert_true(packet_link_known(heads[i].link));
        if (parse(heads[i].link, &bytes, bytes.count, &packet) != PACKET_FLOW) {
            fail_msg("link %d, %s", heads[i].link, heads[i].header);
        }
        assert_true(packet.tcp && packet.ack && !packet.syn && !packet.fin && !packet.rst);
        assert_int_equal(packet.sequence, 100);
        assert_int_equal(packet.acknowledged, 200);
        assert_int_equal(packet.payload_bytes, 5);
        assert_false(packet.reversed);
        /* Cut off anywhere before the flags, it is too short; nothing is read beyond it. */
        for (size_t count = 0; count < bytes.count; count++) {
            enum packet_kind kind = parse(heads[i].link, &bytes, count, &packet);
            size_t needed = bytes.count - 25 + 14; /* of 20 bytes of TCP and 5 of payload */
            assert_int_equal(kind, count < needed ? PACKET_CUT_SHORT : PACKET_FLOW);
        }
    }
    assert_false(packet_link_known(105));
    struct bytes arp = {.count = 0};
    struct packet packet;
    put_hex(&arp, "ffffffffffff0000000000010806");
    assert_int_equal(parse(1, &arp, arp.count, &packet), PACKET_OTHER);
}

static void both_directions_are_one_flow(void **state)
{
    (void)state;
    struct packet there;
    struct packet back;
    struct bytes bytes = {.count = 0};
    put_tcp(&bytes, 7, 3, 1, 1, ACK, 0);
    assert_int_equal(parse(101, &bytes, bytes.count, &there), PACKET_FLOW);
    bytes.count = 0;
    put_tcp(&bytes, 3, 7, 1, 1, ACK, 0);
    assert_int_equal(parse(101, &bytes, bytes.count, &back), PACKET_FLOW);
    assert_int_equal(there.flow_bytes, back.flow_bytes);
    assert_memory_equal(there.flow, back.flow, there.flow_bytes);
    assert_true(there.reversed && !back.reversed);
    bytes.at[12] = 0x1f; /* the offset of a TCP header that cannot be: none */
    bytes.at[20 + 12] = 0x40;
    assert_int_equal(parse(101, &bytes, bytes.count, &back), PACKET_MALFORMED);
    bytes.at[20 + 12] = 0xf0; /* or one beyond the packet's end */
    assert_int_equal(parse(101, &bytes, bytes.count, &back), PACKET_MALFORMED);
    bytes.at[7] = 1; /* a later fragment */
    assert_int_equal(parse(101, &bytes, bytes.count, &back), PACKET_OTHER);
}

/* --- models ----------------------------------------------------------------------------------- */

#define CLIENT 1u
#define SERVER 2u

/* A connection in short, with the sums after each line. */
static void add(struct bytes *capture, uint64_t time_ms, unsigned from, uint32_t sequence,
                uint32_t acknowledged, unsigned flags, unsigned payload)
{
    struct bytes packet = {.count = 0};
    put_tcp(&packet, from, from == CLIENT ? SERVER : CLIENT, sequence, acknowledged, flags,
            payload);
    put_record(capture, time_ms, &packet, packet.count);
}

static void retransmission_timers(void **state)
{
    (void)state;
    struct bytes capture = {.count = 0};
    put_capture_header(&capture, 101);
    const uint32_t c = 0xffffff00;                           /* wraps after 256 bytes */
    add(&capture, 1000, CLIENT, c, 0, SYN, 0);               /* 0 starts */
    add(&capture, 1010, SERVER, 500, c + 1, SYN | ACK, 0);   /* 0 stops, 1 starts */
    add(&capture, 1020, CLIENT, c + 1, 501, ACK, 0);         /* 1 stops */
    add(&capture, 1030, CLIENT, c + 1, 501, ACK, 200);       /* 0 starts */
    add(&capture, 1040, CLIENT, c + 201, 501, ACK, 200);     /* it is running */
    add(&capture, 1050, SERVER, 501, c + 201, ACK, 0);       /* 0 starts again */
    add(&capture, 1055, SERVER, 501, c + 901, ACK, 0);       /* of data that was never sent */
    add(&capture, 1060, SERVER, 501, c + 201, ACK, 0);       /* nothing new */
    add(&capture, 1249, CLIENT, c + 201, 501, ACK, 200);     /* a retransmission */
    add(&capture, 1250, SERVER, 501, c + 401, ACK, 0);       /* too late: it fired just now */
    add(&capture, 1300, CLIENT, c + 201, 501, ACK, 200);     /* needs no answer any more */
    add(&capture, 1310, CLIENT, c + 401, 501, ACK | FIN, 0); /* 0 starts */
    add(&capture, 1320, SERVER, 501, c + 401, ACK | RST, 0); /* 0 stops */
    add(&capture, 1330, CLIENT, 7, 0, SYN, 0);               /* 0 starts, a new connection */
    add(&capture, 1340, CLIENT, 8, 0, SYN, 0);               /* and again: 0 stops, starts */
    add(&capture, 1350, SERVER, 501, 7, ACK, 0);             /* nothing, but the recording's end */
    struct import_run run = run_capture(&capture, (const char *const[]){"model", "rto", NULL});
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,0,start,200\n10,0,stop\n10,1,start,200\n20,1,stop\n"
                                    "30,0,start,200\n50,0,start,200\n310,0,start,200\n"
                                    "320,0,stop\n330,0,start,200\n340,0,stop\n340,0,start,200\n");
    free(operations);
    assert_int_equal(run.header.end_tick, 351);
    assert_int_equal(import_run_number(&run, "counts.retransmissions"), 2);
    assert_int_equal(import_run_number(&run, "counts.rearm"), 1);
    assert_int_equal(import_run_number(&run, "counts.cancel"), 2);
    assert_int_equal(import_run_number(&run, "counts.cancel_reset"), 2);
    assert_int_equal(import_run_number(&run, "counts.expiry"), 1);
    assert_int_equal(import_run_number(&run, "counts.armed_at_end"), 1);
    import_run_free(&run);
}

static void idle_timers_and_cut_captures(void **state)
{
    (void)state;
    struct bytes capture = {.count = 0};
    struct bytes packet = {.count = 0};
    put_capture_header(&capture, 101);
    put_tcp(&packet, 1, 2, 1, 1, ACK, 8);
    put_record(&capture, 1000, &packet, packet.count);
    put_record(&capture, 2000, &packet, 34); /* as much as is needed */
    put_record(&capture, 3000, &packet, 33); /* less */
    put_record(&capture, 12000, &packet, packet.count);
    put_record(&capture, 13000, &packet, packet.count);
    capture.count -= 3;
    const char *const settings[] = {"idle",       "10", "max-malformed", "30%", "tick-ns",
                                    "1000000000", NULL};
    struct import_run run = run_capture(&capture, settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    assert_int_equal(import_run_number(&run, "counts.lines"), 4);
    assert_int_equal(import_run_number(&run, "packets.tcp"), 3);
    assert_int_equal(import_run_number(&run, "packets.truncated"), 2);
    assert_int_equal(import_run_number(&run, "packets.cut_short"), 1);
    assert_non_null(strstr(run.report, "packet 3: cut off within the TCP or UDP header"));
    assert_non_null(strstr(run.report, "ends within a packet"));
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,0,start,10\n1,0,start,10\n11,0,start,10\n");
    free(operations);
    import_run_free(&run);

    run = run_capture(&capture, NULL);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text, "1 of 4 packets are not understood, first packet 3"));
    import_run_free(&run);
}

static void the_other_file_format(void **state)
{
    (void)state;
    struct bytes capture = {.count = 0};
    struct bytes packet = {.count = 0};
    put_tcp(&packet, 1, 2, 1, 1, ACK, 0);
    put(&capture, 0x0a0d0d0a, 4); /* a section header */
    put(&capture, 28, 4);
    put(&capture, 0x1a2b3c4d, 4);
    put(&capture, 0x00010000, 4);
    put(&capture, UINT64_MAX, 8);
    put(&capture, 28, 4);
    put(&capture, 1, 4); /* an interface */
    put(&capture, 20, 4);
    put(&capture, (uint64_t)101 << 16, 4);
    put(&capture, 65535, 4);
    put(&capture, 20, 4);
    for (uint64_t i = 0; i < 2; i++) {
        put(&capture, 6, 4); /* a packet; microseconds */
        put(&capture, 32 + packet.count, 4);
        put(&capture, 0, 4);
        put(&capture, 1000000 + i * 2500, 8);
        put(&capture, packet.count, 4);
        put(&capture, packet.count, 4);
        memcpy(capture.at + capture.count, packet.at, packet.count);
        capture.count += packet.count;
        put(&capture, 32 + packet.count, 4);
    }
    struct import_run run = run_capture(&capture, (const char *const[]){"tick-ns", "100000", NULL});
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,0,start,600000\n25,0,start,600000\n");
    free(operations);
    import_run_free(&run);
}

static void odd_captures_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        enum import_result result;
        const char *complaint;
    } wrong[] = {
        {{"model", "tcp", NULL}, IMPORT_USAGE, "--model tcp: not idle or rto"},
        {{"rto-ms", "5", NULL}, IMPORT_USAGE, "--rto-ms needs --model rto"},
        {{"model", "rto", "idle", "5", NULL}, IMPORT_USAGE, "--idle is of no use"},
        {{NULL}, IMPORT_FAILED, "is empty: no packet to import"},
        {{"model", "rto", NULL}, IMPORT_FAILED, "is empty: no packet to import"},
    };
    struct bytes capture = {.count = 0};
    put_capture_header(&capture, 101);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct import_run run = run_capture(&capture, wrong[i].settings);
        assert_int_equal(run.result, wrong[i].result);
        if (strstr(run.error.text, wrong[i].complaint) == NULL) {
            fail_msg("%s", run.error.text);
        }
        import_run_free(&run);
    }
    capture.count = 0;
    put_capture_header(&capture, 105);
    struct import_run run = run_capture(&capture, NULL);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text, "IEEE802_11 (105), which is not understood"));
    import_run_free(&run);
    capture.count = 0;
    put(&capture, 0x12345678, 4);
    put(&capture, 0, 64);
    run = run_capture(&capture, NULL);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text, "some.pcap: not a capture: "));
    assert_non_null(strstr(run.error.text, "tcpdump -w"));
    import_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_layers),           cmocka_unit_test(both_directions_are_one_flow),
        cmocka_unit_test(retransmission_timers), cmocka_unit_test(idle_timers_and_cut_captures),
        cmocka_unit_test(the_other_file_format), cmocka_unit_test(odd_captures_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
