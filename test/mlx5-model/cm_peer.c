/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections, and the messages between the two identifiers of one. */
#include "cm_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm_id.h"
#include "qp.h"

/* InfiniBand's reasons of a rejection. */
#define REJECT_NO_SERVICE 8
#define REJECT_BY_USER	  28

/* Lengths of the private data in messages of InfiniBand. */
#define REQUEST_BYTES 56u
#define REPLY_BYTES   196u
#define REJECT_BYTES  148u

enum cm_message_kind {
	MESSAGE_REQUEST,
	MESSAGE_REPLY,
	MESSAGE_READY, /* answers a reply */
	MESSAGE_REJECT,
	MESSAGE_DISCONNECT,
	MESSAGE_DISCONNECT_REPLY,
};

struct cm_message {
	enum cm_message_kind kind;
	uint32_t qpn;		   /* of the sender */
	int reason;		   /* of a rejection */
	struct sockaddr_in source; /* of a request */
	struct rdma_ucm_conn_param param;
};

static void separate(struct cm_id *id)
{
	if (id->peer)
		id->peer->peer = NULL;
	id->peer = NULL;
	link_unref(id->link);
	id->link = NULL;
}

/* The request of 'id' is answered, and does not count in the backlog any more. */
static void leave_backlog(struct cm_id *id)
{
	if (id->listener)
		id->listener->waiting--;
	id->listener = NULL;
}

/* Fills the parameters of an event about a message, which has 'len' bytes of private data in
 * InfiniBand's format. */
static void fill_param(struct rdma_ucm_event_resp *event, const struct cm_message *message,
		       uint8_t len)
{
	const struct rdma_ucm_conn_param *param = &message->param;
	struct rdma_ucm_conn_param *to;

	if (!event)
		return;
	to = &event->param.conn;
	*to = *param;
	to->qp_num = message->qpn;
	memset(to->private_data + param->private_data_len, 0,
	       sizeof(to->private_data) - param->private_data_len);
	to->private_data_len = len;
	/* Each side names these numbers from its own view. */
	to->responder_resources = param->initiator_depth;
	to->initiator_depth = param->responder_resources;
}

static void on_reply(struct cm_id *id, const struct cm_message *message)
{
	if (id->state != CM_REQUEST_SENT)
		return;
	id->state = CM_REPLY_RECEIVED;
	id->peer_qpn = message->qpn;
	id->rnr_retry = message->param.rnr_retry_count;
	fill_param(cm_id_push(id, CM_EVENT_CONNECT_RESPONSE, 0), message, REPLY_BYTES);
}

static void on_ready(struct cm_id *id)
{
	if (id->state != CM_REPLY_SENT)
		return;
	id->state = CM_CONNECTED;
	cm_id_push(id, CM_EVENT_ESTABLISHED, 0);
}

static void on_reject(struct cm_id *id, const struct cm_message *message)
{
	struct rdma_ucm_event_resp *event;

	if (id->state != CM_REQUEST_SENT && id->state != CM_REPLY_SENT)
		return;
	id->state = CM_ENDED;
	separate(id);
	event = cm_id_push(id, CM_EVENT_REJECTED, message->reason);
	if (!event || message->reason != REJECT_BY_USER)
		return;
	memcpy(event->param.conn.private_data, message->param.private_data,
	       message->param.private_data_len);
	event->param.conn.private_data_len = REJECT_BYTES;
}

static void end_disconnect(struct cm_id *id)
{
	id->state = CM_ENDED;
	separate(id);
	cm_id_push(id, CM_EVENT_DISCONNECTED, 0);
}

static void on_disconnect(struct cm_id *id)
{
	if (id->state == CM_CONNECTED || id->state == CM_REPLY_RECEIVED) {
		id->state = CM_DISCONNECT_RECEIVED;
		cm_id_push(id, CM_EVENT_DISCONNECTED, 0);
	} else if (id->state == CM_DISCONNECT_SENT) {
		end_disconnect(id); /* both sides have disconnected at the same time */
	}
}

static void on_message(struct cm_id *id, const struct cm_message *message)
{
	switch (message->kind) {
	case MESSAGE_REPLY:
		on_reply(id, message);
		break;
	case MESSAGE_READY:
		on_ready(id);
		break;
	case MESSAGE_REJECT:
		on_reject(id, message);
		break;
	case MESSAGE_DISCONNECT:
		on_disconnect(id);
		break;
	case MESSAGE_DISCONNECT_REPLY:
		if (id->state == CM_DISCONNECT_SENT)
			end_disconnect(id);
		break;
	default:
		break;
	}
}

static void send_message(struct link *link, const struct cm_message *message)
{
	const struct link_message header = {.kind = LINK_CM, .len = sizeof(*message)};

	memcpy(link_append(link, &header), message, sizeof(*message));
	link_flush(link);
}

static bool has_peer(const struct cm_id *id)
{
	return id->peer || (id->link && !id->link->is_lost);
}

/* Gives a message to the peer. Returns false if there is none. */
static bool tell_peer(struct cm_id *id, const struct cm_message *message)
{
	if (!has_peer(id))
		return false;
	if (id->peer)
		on_message(id->peer, message);
	else
		send_message(id->link, message);
	return true;
}

static struct cm_id *find_listener(uint16_t port)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &cm_ids, entry)
	if (id->state == CM_LISTENING && id->source.sin_port == port)
		break;
	return id;
}

/*
 * Gives a request to the listener of a port. Makes an identifier for it, and returns the identifier
 * in *peer. Returns 0, or the reason of a rejection.
 */
static int take_request(uint16_t port, const struct cm_message *message, struct cm_id **peer)
{
	struct cm_id *listener = find_listener(port), *id;
	struct rdma_ucm_event_resp event;

	if (!listener)
		return REJECT_NO_SERVICE;
	id = listener->waiting < listener->backlog ? cm_id_create(listener->file, 0) : NULL;
	if (!id)
		return REJECT_BY_USER;
	id->state = CM_REQUEST_RECEIVED;
	id->source = listener->source;
	/* A listener of all addresses gets requests at the address of the device. */
	id->source.sin_addr = message->source.sin_addr;
	id->destination = message->source;
	id->peer_qpn = message->qpn;
	id->responder_resources = message->param.initiator_depth;
	id->initiator_depth = message->param.responder_resources;
	id->rnr_retry = message->param.rnr_retry_count;
	id->listener = listener;
	listener->waiting++;
	event = (struct rdma_ucm_event_resp){
		.uid = listener->uid, .id = id->handle, .event = CM_EVENT_CONNECT_REQUEST};
	fill_param(&event, message, REQUEST_BYTES);
	file_push(listener->file, id, &listener->reported, &event, sizeof(event));
	*peer = id;
	return 0;
}

/* Gives a request to a listener of this process. Returns 0, or the reason of a rejection. */
static int request_here(struct cm_id *id, const struct cm_message *message)
{
	struct cm_id *peer = NULL;
	int reason = take_request(id->destination.sin_port, message, &peer);

	id->peer = peer;
	if (peer)
		peer->peer = id;
	return reason;
}

/* Sends a request to a port of the network. Returns 0, or the reason of a rejection. */
static int request_by_link(struct cm_id *id, const struct cm_message *message)
{
	id->link = link_connect(id->destination.sin_port);
	if (!id->link)
		return errno == ECONNREFUSED ? REJECT_NO_SERVICE : REJECT_BY_USER;
	qp_set_link(id->qpn, id->link);
	send_message(id->link, message);
	return 0;
}

/* Takes the parameters that a program gives for its side. */
static void take_param(struct cm_id *id, const struct rdma_ucm_conn_param *param)
{
	id->qpn = param->qp_num;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->rnr_retry = param->rnr_retry_count;
}

int cm_id_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param)
{
	const struct cm_message message = {.kind = MESSAGE_REQUEST,
					   .qpn = param->qp_num,
					   .source = id->source,
					   .param = *param};
	int reason;

	if (id->state != CM_ROUTE)
		return EINVAL;
	take_param(id, param);
	reason = link_has_network() ? request_by_link(id, &message) : request_here(id, &message);
	id->state = reason == 0 ? CM_REQUEST_SENT : CM_ENDED;
	if (reason != 0)
		cm_id_push(id, CM_EVENT_REJECTED, reason);
	return 0;
}

int cm_id_accept(struct cm_id *id, uint64_t uid, const struct rdma_ucm_conn_param *param)
{
	const struct cm_message message = {
		.kind = MESSAGE_REPLY, .qpn = param->qp_num, .param = *param};

	if (!has_peer(id))
		return ECONNRESET;
	if (id->state != CM_REQUEST_RECEIVED)
		return EINVAL;
	id->uid = uid;
	take_param(id, param);
	leave_backlog(id);
	if (id->link)
		qp_set_link(id->qpn, id->link);
	id->state = CM_REPLY_SENT;
	tell_peer(id, &message);
	return 0;
}

int cm_id_establish(struct cm_id *id)
{
	const struct cm_message message = {.kind = MESSAGE_READY};

	if (id->state != CM_REPLY_RECEIVED)
		return EINVAL;
	id->state = CM_CONNECTED;
	tell_peer(id, &message);
	return 0;
}

int cm_id_reject(struct cm_id *id, const void *private_data, uint8_t len)
{
	struct cm_message message = {.kind = MESSAGE_REJECT, .reason = REJECT_BY_USER};

	if (id->state != CM_REQUEST_RECEIVED && id->state != CM_REPLY_RECEIVED)
		return EINVAL;
	leave_backlog(id);
	if (len > 0)
		memcpy(message.param.private_data, private_data, len);
	message.param.private_data_len = len;
	id->state = CM_ENDED;
	tell_peer(id, &message);
	separate(id);
	return 0;
}

int cm_id_disconnect(struct cm_id *id)
{
	const struct cm_message request = {.kind = MESSAGE_DISCONNECT},
				reply = {.kind = MESSAGE_DISCONNECT_REPLY};

	switch (id->state) {
	case CM_CONNECTED:
	case CM_REPLY_SENT:
		id->state = CM_DISCONNECT_SENT;
		if (!tell_peer(id, &request))
			end_disconnect(id);
		return 0;
	case CM_DISCONNECT_RECEIVED:
		id->state = CM_ENDED;
		tell_peer(id, &reply);
		separate(id);
		return 0;
	default:
		return EINVAL;
	}
}

/* Rejects the requests of a listener that is being destroyed. The program knows the identifier of a
 * request only if it has read its event. */
static void reject_requests(const struct cm_id *listener)
{
	struct cm_id *id, *next;

	for (id = TAILQ_FIRST(&cm_ids); id; id = next) {
		next = TAILQ_NEXT(id, entry);
		if (id->listener != listener)
			continue;
		id->listener = NULL;
		if (file_drop_events(id->file, id) > 0)
			cm_id_destroy(id);
	}
}

void cm_id_end(struct cm_id *id)
{
	switch (id->state) {
	case CM_LISTENING:
		reject_requests(id);
		break;
	case CM_REQUEST_RECEIVED:
	case CM_REPLY_RECEIVED:
		cm_id_reject(id, NULL, 0);
		break;
	case CM_CONNECTED:
	case CM_REPLY_SENT:
	case CM_DISCONNECT_RECEIVED:
		cm_id_disconnect(id);
		break;
	default:
		break;
	}
	leave_backlog(id);
	separate(id);
}

static struct cm_id *find_by_link(const struct link *link)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &cm_ids, entry)
	if (id->link == link)
		break;
	return id;
}

void cm_peer_on_message(struct link *link, const struct link_message *header, const uint8_t *data)
{
	struct cm_message message, reject = {.kind = MESSAGE_REJECT};
	struct cm_id *id = find_by_link(link);

	if (header->len != sizeof(message))
		return;
	memcpy(&message, data, sizeof(message));
	if (id) {
		on_message(id, &message);
		return;
	}
	if (message.kind != MESSAGE_REQUEST)
		return; /* the program has destroyed the identifier */
	reject.reason = take_request(link->port, &message, &id);
	if (id)
		id->link = link_ref(link);
	else
		send_message(link, &reject);
}

/* The process of the peer has ended, or has destroyed its identifier and its queue pair. */
void cm_peer_on_loss(struct link *link)
{
	const struct cm_message reject = {.kind = MESSAGE_REJECT, .reason = REJECT_BY_USER};
	struct cm_id *id = find_by_link(link);

	if (!id)
		return;
	on_reject(id, &reject);
	on_disconnect(id);
}
