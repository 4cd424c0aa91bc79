/*
 * import pcap: captured packets. Each belongs to a flow, which is a connection: either every packet
 * restarts the flow's idle timer; or each end of a TCP connection has a retransmission timer, which
 * runs while data that it sent is not acknowledged.
 */
#include "import.h"

#include "sorted_events.h"

const struct import_option import_pcap_options[] = {
    {"model", "MODEL", false,
     "idle: packets restart their flow's idle timer; rto: data of TCP starts a retransmission "
     "timer, acknowledgements stop it (default: idle)"},
    {"rto-ms", "MS", false, "the retransmission timers' timeout in milliseconds (default: 200)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

#ifdef TL_HAVE_PCAP

#include "loaded_library.h"
#include "memory.h"
#include "packed_file.h"
#include "packet.h"
#include "progress.h"
#include "timer_model.h"
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

/* Its name in Debian, and elsewhere. It is loaded on demand, because it brings a dozen libraries
 * with it, which would slow down every other command. */
#define PCAP_FUNCTIONS(X)                                                                          \
    X(pcap_close)                                                                                  \
    X(pcap_datalink)                                                                               \
    X(pcap_datalink_val_to_name)                                                                   \
    X(pcap_fopen_offline_with_tstamp_precision)                                                    \
    X(pcap_geterr)                                                                                 \
    X(pcap_next_ex)
LOADED_LIBRARY(PCAP_FUNCTIONS, "libpcap.so.0.8", "libpcap.so.1");

/* One end of a TCP connection, as a sender. Sequence numbers wrap. */
struct sender {
    uint32_t initial;      /* of its last SYN */
    uint32_t unacked;      /* the first that is not acknowledged */
    uint32_t next;         /* after the last that was sent */
    uint32_t timer_plus_1; /* 0: it never sent anything */
    bool begun;            /* `unacked` and `next` are known */
    bool synchronised;     /* `initial` is known */
};

struct rto_counts {
    uint64_t data_segments;
    uint64_t retransmissions;
    uint64_t cancels; /* by an acknowledgement */
    uint64_t resets;  /* by SYN or RST */
};

/* A TCP packet in the reorder. */
struct segment {
    uint32_t flow; /* its number */
    struct packet packet;
};

struct packet_counts {
    uint64_t tcp;
    uint64_t udp;
    uint64_t other;
    uint64_t truncated; /* not all of the packet was captured */
    uint64_t cut_short; /* too little to determine its flow */
};

struct pcap_import {
    const struct import_job *job;
    bool rto; /* the model; if not, idle */
    struct event_log_settings settings;
    uint64_t rto_ns;
    struct import_tally tally;
    struct packed_file *file;
    const char *why; /* reading the file failed */
    pcap_t *pcap;
    struct packet_counts packets;
    bool cut_off; /* the capture ends within a packet */
    /* model idle */
    struct event_log *log;
    /* model rto */
    struct sorted_events segments; /* a flow's value is its two senders */
    struct timer_model *model;
    struct rto_counts rto_counts;
};

/* --- options ---------------------------------------------------------------------------------- */

static bool read_settings(struct pcap_import *import, struct error *error)
{
    const struct import_job *job = import->job;
    const char *model = import_setting(job, "model");
    import->rto = model != NULL && strcmp(model, "rto") == 0;
    if (model != NULL && !import->rto && strcmp(model, "idle") != 0) {
        return error_set(error, "--model %s: not idle or rto", model);
    }
    if (import_setting(job, import->rto ? "idle" : "rto-ms") != NULL) {
        return error_set(error, import->rto ? "--idle is of no use to --model rto"
                                            : "--rto-ms needs --model rto");
    }
    import->rto_ns = 200000000;
    return event_log_settings(job, &import->settings, error) &&
           import_setting_time(job, "rto-ms", 1000000, 1, &import->rto_ns, error);
}

/* --- retransmission timers -------------------------------------------------------------------- */

/* Whether a is before b, modulo 2^32. */
static bool before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static bool is_armed(const struct pcap_import *import, const struct sender *sender)
{
    return sender->timer_plus_1 > 0 &&
           timer_model_is_armed(import->model, sender->timer_plus_1 - 1);
}

static bool reset(struct pcap_import *import, struct sender *sender, struct error *error)
{
    if (!is_armed(import, sender)) {
        return true;
    }
    import->rto_counts.resets++;
    return timer_model_stop(import->model, sender->timer_plus_1 - 1, error);
}

/* An acknowledgement of what `peer` sent. */
static bool acknowledge(struct pcap_import *import, struct sender *peer, uint32_t number,
                        struct error *error)
{
    if (!peer->begun || !before(peer->unacked, number) || before(peer->next, number)) {
        return true;
    }
    peer->unacked = number;
    if (!is_armed(import, peer)) {
        return true;
    }
    if (peer->unacked != peer->next) {
        return timer_model_start(import->model, peer->timer_plus_1 - 1, error);
    }
    import->rto_counts.cancels++;
    return timer_model_stop(import->model, peer->timer_plus_1 - 1, error);
}

/* Data, SYN or FIN: the receiver must acknowledge it. */
static bool send_data(struct pcap_import *import, struct sender *sender, uint32_t sequence,
                      uint32_t length, struct error *error)
{
    uint32_t end = sequence + length;
    import->rto_counts.data_segments++;
    if (!sender->begun) {
        sender->begun = true;
        sender->unacked = sequence;
        sender->next = end;
    } else if (before(sender->next, end)) {
        sender->next = end;
    } else {
        import->rto_counts.retransmissions++;
    }
    if (sender->timer_plus_1 == 0) {
        sender->timer_plus_1 = timer_model_new_timer(import->model, 0) + 1;
    }
    /* A retransmission of acknowledged data waits for no acknowledgement. */
    return sender->unacked == sender->next || is_armed(import, sender) ||
           timer_model_start(import->model, sender->timer_plus_1 - 1, error);
}

static bool take_segment(void *ctx, uint64_t time_ns, const void *event, struct error *error)
{
    struct pcap_import *import = ctx;
    const struct segment *segment = event;
    const struct packet *packet = &segment->packet;
    struct sender *ends = key_table_value(import->segments.keys, segment->flow);
    struct sender *sender = &ends[packet->reversed];
    struct sender *peer = &ends[!packet->reversed];
    import_times_add(&import->segments.times, time_ns);
    if (!timer_model_advance(import->model, time_ns, error)) {
        return false;
    }
    if (packet->syn && (!sender->synchronised || sender->initial != packet->sequence)) {
        /* A new connection between the same ends; the answer to a SYN belongs to it. */
        bool answer = packet->ack;
        if (!reset(import, sender, error) || (!answer && !reset(import, peer, error))) {
            return false;
        }
        sender->begun = false;
        sender->synchronised = true;
        sender->initial = packet->sequence;
        if (!answer) {
            peer->begun = false;
            peer->synchronised = false;
        }
    }
    if (packet->rst) {
        return reset(import, sender, error) && reset(import, peer, error);
    }
    if (packet->ack && !acknowledge(import, peer, packet->acknowledged, error)) {
        return false;
    }
    uint32_t length = packet->payload_bytes + packet->syn + packet->fin;
    return length == 0 || send_data(import, sender, packet->sequence, length, error);
}

/* --- packets ---------------------------------------------------------------------------------- */

static bool take_packet(struct pcap_import *import, const struct pcap_pkthdr *header,
                        const uint8_t *data, struct error *error)
{
    struct import_tally *tally = &import->tally;
    struct packet packet;
    const char *why;
    tally->lines++;
    import->packets.truncated += header->caplen < header->len;
    /* The fraction is in nanoseconds, because the capture was opened so. */
    int64_t seconds = header->ts.tv_sec;
    if (seconds < 0 || seconds > INT64_C(9000000000) || header->ts.tv_usec < 0 ||
        header->ts.tv_usec > 999999999) {
        import_tally_malformed(tally, tally->lines, "", 0, "an impossible time stamp");
        return true;
    }
    uint64_t time_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)header->ts.tv_usec;
    switch (packet_parse(lib.pcap_datalink(import->pcap), data, header->caplen, &packet, &why)) {
    case PACKET_FLOW:
        break;
    case PACKET_OTHER:
        import->packets.other++;
        return true;
    case PACKET_CUT_SHORT:
        import->packets.cut_short++;
        /* fall through */
    case PACKET_MALFORMED:
    default:
        import_tally_malformed(tally, tally->lines, "", 0, why);
        return true;
    }
    import->packets.tcp += packet.tcp;
    import->packets.udp += !packet.tcp;
    if (!import->rto) {
        return event_log_activity(import->log, time_ns, packet.flow, packet.flow_bytes, error);
    }
    if (!packet.tcp) {
        return true;
    }
    const struct segment segment = {
        .flow = key_table_number(import->segments.keys, packet.flow, packet.flow_bytes),
        .packet = packet};
    return reorder_add(import->segments.reorder, time_ns, &segment, error);
}

static ssize_t read_cookie(void *cookie, char *to, size_t room)
{
    struct pcap_import *import = cookie;
    return packed_file_read(import->file, to, room, &import->why);
}

/* Open the capture in the file, which may be compressed. */
static bool open_capture(struct pcap_import *import, struct error *error)
{
    const char *name = packed_file_name(import->file);
    char why[PCAP_ERRBUF_SIZE] = "";
    if (memory_unless_short(tl_library_load(&library)) == NULL) {
        return error_set(error,
                         "%s: libpcap, which reads captures, is not installed; Debian's "
                         "package is libpcap0.8",
                         name);
    }
    FILE *stream =
        memory_made(fopencookie(import, "r", (cookie_io_functions_t){.read = read_cookie}));
    errno = 0;
    import->pcap = memory_unless_short(
        lib.pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why));
    if (import->pcap == NULL) {
        (void)fclose(stream);
        return error_set(error,
                         "%s: not a capture: %s; give what tcpdump -w, dumpcap or Wireshark wrote",
                         name, import->why != NULL ? import->why : why);
    }
    int link = lib.pcap_datalink(import->pcap);
    if (!packet_link_known(link)) {
        const char *link_name = lib.pcap_datalink_val_to_name(link);
        return error_set(error,
                         "%s: its packets are of the link type %s (%d), which is not understood; "
                         "capture on an Ethernet, loopback or 'any' interface",
                         name, link_name != NULL ? link_name : "unknown", link);
    }
    return true;
}

static bool read_packets(struct pcap_import *import, struct error *error)
{
    struct import_tally *tally = &import->tally;
    struct progress progress;
    progress_begin(&progress, "import", "bytes", packed_file_bytes_total(import->file));
    struct pcap_pkthdr *header;
    const uint8_t *data;
    int status;
    bool good = true;
    while (good && (status = lib.pcap_next_ex(import->pcap, &header, &data)) == 1) {
        good = take_packet(import, header, data, error);
        if ((tally->lines & 4095) == 0) {
            progress_update(&progress, packed_file_bytes_done(import->file));
            good = good && import_tally_accept(tally, false, error);
        }
    }
    progress_end(&progress);
    if (!good || status == PCAP_ERROR_BREAK) {
        return good;
    }
    if (import->why != NULL) {
        return error_set(error, "%s: %s after packet %" PRIu64 "; copy or record the file again",
                         tally->name, import->why, tally->lines);
    }
    const char *why = lib.pcap_geterr(import->pcap);
    if (tally->lines > 0 && strstr(why, "truncated") != NULL) {
        /* The capture was interrupted; the packets before that are complete. */
        import->cut_off = true;
        return true;
    }
    return error_set(error,
                     "%s: cannot be read after packet %" PRIu64 ": %s; copy or record the file "
                     "again",
                     tally->name, tally->lines, why);
}

/* --- the end ---------------------------------------------------------------------------------- */

static json_t *describe_packets(const struct pcap_import *import)
{
    const struct packet_counts *packets = &import->packets;
    const struct import_count counts[] = {
        {"tcp", packets->tcp},
        {"udp", packets->udp},
        {"other", packets->other},
        {"truncated", packets->truncated},
        {"cut_short", packets->cut_short},
    };
    json_t *details = json_object();
    (void)json_object_set_new(details, "packets",
                              import_counts_json(counts, sizeof counts / sizeof counts[0]));
    (void)json_object_set_new(details, "model", json_string(import->rto ? "rto" : "idle"));
    return details;
}

static void print_packets(const struct pcap_import *import)
{
    const char *name = packed_file_name(import->file);
    const struct packet_counts *packets = &import->packets;
    FILE *out = import->job->report;
    (void)fprintf(out,
                  "%s: %" PRIu64 " TCP, %" PRIu64 " UDP, %" PRIu64 " other packets; %" PRIu64
                  " captured in part, %" PRIu64 " of them too little\n",
                  name, packets->tcp, packets->udp, packets->other, packets->truncated,
                  packets->cut_short);
    if (import->cut_off) {
        (void)fprintf(out, "%s: ends within a packet; what precedes it was taken\n", name);
    }
}

static bool finish_rto(struct pcap_import *import, struct error *error)
{
    struct sorted_events *segments = &import->segments;
    const struct reorder_counts *order = reorder_counts(segments->reorder);
    if (!sorted_events_end(segments, order->events, "is of TCP", error) ||
        !timer_model_finish(import->model, error)) {
        return false;
    }
    const struct timer_queue_counts *queue = timer_model_counts(import->model, 0);
    const struct rto_counts *rto = &import->rto_counts;
    uint32_t flows = key_table_count(segments->keys);
    struct import_summary summary = {.format = "pcap", .details = describe_packets(import)};
    timer_model_end(import->model, &summary);
    const struct import_count counts[] = {
        {"packets", segments->tally->lines},
        {"malformed_packets", segments->tally->malformed},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"flows", flows},
        {"data_segments", rto->data_segments},
        {"retransmissions", rto->retransmissions},
        {"arm", queue->arms},
        {"rearm", queue->rearms},
        {"cancel", rto->cancels},
        {"cancel_reset", rto->resets},
        {"expiry", queue->expired},
        {"armed_at_end", queue->armed},
        {"max_armed", queue->max_armed},
        {"timers", summary.timers},
        {"trace_starts", summary.starts},
        {"trace_stops", summary.stops},
    };
    IMPORT_COUNTS(&summary, counts);
    (void)json_object_set_new(summary.details, "connections", json_integer(flows));
    (void)json_object_set_new(summary.details, "rto_ns", json_integer((json_int_t)import->rto_ns));
    return sorted_events_finish(segments, &summary, error);
}

static bool open_model(struct pcap_import *import, struct error *error)
{
    const uint64_t timeouts_ns[TIMER_MODEL_QUEUES] = {import->rto_ns, import->rto_ns};
    import->tally = (struct import_tally){.job = import->job,
                                          .name = packed_file_name(import->file),
                                          .unit = "packet",
                                          .max_malformed = import->settings.max_malformed};
    if (!import->rto) {
        import->log = event_log_open(&import->tally, &import->settings, error);
        return import->log != NULL;
    }
    sorted_events_open(&import->segments, &import->tally, &import->settings,
                       sizeof(struct sender[2]), sizeof(struct segment), take_segment, import);
    import->model =
        timer_model_open(import->job->output, import->settings.tick_ns, timeouts_ns, error);
    return import->model != NULL;
}

static bool import_packets(struct pcap_import *import, struct error *error)
{
    if (!open_model(import, error) || !open_capture(import, error) ||
        !read_packets(import, error)) {
        return false;
    }
    bool good = import->rto
                    ? finish_rto(import, error)
                    : event_log_finish(import->log, "pcap", describe_packets(import), error);
    if (good) {
        print_packets(import);
    }
    return good;
}

enum import_result import_pcap(const struct import_job *job, struct error *error)
{
    struct pcap_import import = {.job = job};
    if (!read_settings(&import, error)) {
        return IMPORT_USAGE;
    }
    import.file = packed_file_open(job->input, error);
    if (import.file == NULL) {
        return IMPORT_FAILED;
    }
    bool good = import_packets(&import, error);
    if (import.pcap != NULL) {
        lib.pcap_close(import.pcap);
    }
    import_tally_close(&import.tally, good);
    event_log_close(import.log);
    sorted_events_close(&import.segments);
    timer_model_close(import.model);
    packed_file_close(import.file);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}

#else

enum import_result import_pcap(const struct import_job *job, struct error *error)
{
    (void)error_set(error, "%s: cannot be read: timerlab was built without libpcap (libpcap-dev)",
                    job->input);
    return IMPORT_FAILED;
}

#endif
