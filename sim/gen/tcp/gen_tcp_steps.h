/*
 * gen_tcp_steps.h: the steps of a connection of the workload tcp, for the files that have them:
 * gen_tcp_end.c what an end sends and its timers, gen_tcp_request.c requests and replies,
 * gen_tcp_open.c how it opens and closes, and gen_tcp_connection.c which of them comes when.
 */
#ifndef SIM_GEN_TCP_STEPS_H
#define SIM_GEN_TCP_STEPS_H

#include "gen_tcp_connection.h"

/* --- an end ---------------------------------------------------------------------------------- */

/* A duration that may take no tick at all: the whole ticks that it takes in the mean. */
uint64_t tcp_soon(struct gen_model *model, double ticks);

/* Starts an end's timer, if that end is here. What would leave the deadline as it is, is none. */
void tcp_start(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind, uint64_t ticks);

/* Stops it, if it is here and pending. */
void tcp_stop(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind);

/* Whether a timer that nobody looks after still runs at `now`. */
bool tcp_is_pending(const struct gen_timer *timer, uint64_t now);

/* Takes a sample in as Linux does: the variation hardly grows by a round trip that is shorter. */
void tcp_rtt_sample(struct gen_rtt *rtt, float ticks);

/* One of the connection's round trips, in ticks. */
double tcp_round_trip(const struct tcp_visit *visit);

/* Whether a mere ACK arrives; where nothing is lost, it is not among what is sent. */
bool tcp_ack_arrives(const struct tcp_visit *visit);

/* Something that an end sends and waits for is on its way. */
void tcp_send(const struct tcp_visit *visit, struct tcp_end *end);

/* All of it is acknowledged. What was sent twice is measured, too: segments carry time stamps. The
 * ACK has that of what has arrived, which was sent at `sent_at`. */
void tcp_acknowledge(const struct tcp_visit *visit, struct tcp_end *end, double trip_ticks);

/* An end has something from the other one. */
void tcp_hear(const struct tcp_visit *visit, struct tcp_end *end);

/* The way of a SYN, a request, a reply: its arrival is the next event, if it does arrive. If not,
 * the sender's timer will tell, or the sender elsewhere. */
void tcp_travel(const struct tcp_visit *visit, const struct tcp_end *sender, double more_ticks);

/* --- requests -------------------------------------------------------------------------------- */

/* How long the server takes for a reply. */
double tcp_reply_ticks(const struct tcp_visit *visit);

/* The client asks next at a time that is drawn here, or closes, or the server does. */
void tcp_wait_for_request(const struct tcp_visit *visit);

/* The client does what it has planned first, or never will. */
void tcp_drop_plan(const struct tcp_visit *visit);

/* The request leaves; the reply; the next burst of it; and it has arrived. */
void tcp_send_request(const struct tcp_visit *visit);
void tcp_send_reply(const struct tcp_visit *visit);
void tcp_send_burst(const struct tcp_visit *visit);
void tcp_take_reply(const struct tcp_visit *visit);

/* --- begin and end --------------------------------------------------------------------------- */

/* A new connection in this slot. */
void tcp_connect(const struct tcp_visit *visit);

/* The handshake, `repeated` times before. */
void tcp_send_syn(const struct tcp_visit *visit, unsigned repeated);
void tcp_send_syn_ack(const struct tcp_visit *visit, unsigned repeated);
void tcp_establish(const struct tcp_visit *visit);

/* The closer's FIN leaves; and both have closed. */
void tcp_begin_close(const struct tcp_visit *visit);
void tcp_end_close(const struct tcp_visit *visit);

/* The server closes, for what a connection has asked, or has not. In a window a share of these open
 * again, while a spare slot has their TIME_WAIT. */
void tcp_close_by_itself(const struct tcp_visit *visit);

/* A slot whose connection is no more is free for the next from `at` on; a window's, as long as it
 * has not closed by then. */
void tcp_come_back(const struct tcp_visit *visit, uint64_t at);

/* Stops what is still pending, without a farewell. If one end's firing does it, a late structure
 * may still hold the other end's timers, too. */
void tcp_reset(const struct tcp_visit *visit);

/* Nothing is left of it, with or without a farewell. */
void tcp_forget(const struct tcp_visit *visit);

#endif
