/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_ID_H
#define CM_ID_H

/*
 * Identifiers of the connection manager. Without a network (link.h), the two identifiers of a
 * connection are in one process, and a message from one to the other arrives at once. With a
 * network, each connection has a link, even within one process.
 *
 *   connecting side:  IDLE -> ADDR -> ROUTE -> REQUEST_SENT -> REPLY_RECEIVED -> CONNECTED
 *   accepting side:   REQUEST_RECEIVED -> REPLY_SENT -> CONNECTED
 *   listener:         IDLE -> BOUND -> LISTENING
 *   end:              CONNECTED -> DISCONNECT_SENT or DISCONNECT_RECEIVED -> ENDED
 *
 * The functions return 0 or a positive errno, unless a comment says otherwise.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "file.h"
#include "link.h"

/* The kernel's numbers of events, which <rdma/rdma_cma.h> has as well. That header cannot be
 * included together with the one of the kernel. */
enum cm_event {
	CM_EVENT_ADDR_RESOLVED,
	CM_EVENT_ADDR_ERROR,
	CM_EVENT_ROUTE_RESOLVED,
	CM_EVENT_ROUTE_ERROR,
	CM_EVENT_CONNECT_REQUEST,
	CM_EVENT_CONNECT_RESPONSE,
	CM_EVENT_CONNECT_ERROR,
	CM_EVENT_UNREACHABLE,
	CM_EVENT_REJECTED,
	CM_EVENT_ESTABLISHED,
	CM_EVENT_DISCONNECTED,
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTENING,
	CM_ADDR,
	CM_ROUTE,
	CM_REQUEST_SENT,
	CM_REQUEST_RECEIVED,
	CM_REPLY_SENT,
	CM_REPLY_RECEIVED,
	CM_CONNECTED,
	CM_DISCONNECT_SENT,
	CM_DISCONNECT_RECEIVED,
	CM_ENDED,
};

struct cm_id {
	TAILQ_ENTRY(cm_id) entry;
	struct file *file;
	uint32_t handle;
	uint64_t uid; /* the program's name of it; 0: the program has not accepted it yet */
	enum cm_state state;
	struct sockaddr_in source, destination;
	struct link *port;	   /* the taken port of the network, or NULL */
	struct link *link;	   /* to the peer, or NULL */
	struct cm_id *peer;	   /* without a network; NULL: none, or it is gone */
	struct cm_id *listener;	   /* of a request that is not answered yet */
	uint32_t backlog, waiting; /* of a listener: limit and number of such requests */
	uint32_t qpn, peer_qpn;
	uint8_t responder_resources, initiator_depth, rnr_retry;
	uint32_t reported; /* events that the program has read */
};

TAILQ_HEAD(cm_id_list, cm_id);
extern struct cm_id_list cm_ids;

struct cm_id *cm_id_create(struct file *file, uint64_t uid); /* returns NULL without memory */
struct cm_id *cm_id_find(uint32_t handle);
struct cm_id *cm_id_of_file(const struct file *file);
/* Ends the connection, and returns how many events the program has read. */
uint32_t cm_id_destroy(struct cm_id *id);

/* Queues an event of an identifier that the program knows. Returns the event, or NULL. */
struct rdma_ucm_event_resp *cm_id_push(struct cm_id *id, enum cm_event kind, int status);

int cm_id_bind(struct cm_id *id, const struct sockaddr_in *address);
int cm_id_listen(struct cm_id *id, uint32_t backlog);
int cm_id_resolve_address(struct cm_id *id, const struct sockaddr_in *address);
int cm_id_resolve_route(struct cm_id *id);
int cm_id_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param);
int cm_id_accept(struct cm_id *id, uint64_t uid, const struct rdma_ucm_conn_param *param);
/* Completes the connection of the connecting side, after the reply. */
int cm_id_establish(struct cm_id *id);
int cm_id_reject(struct cm_id *id, const void *private_data, uint8_t len);
int cm_id_disconnect(struct cm_id *id);
/* Ends the connection of an identifier that the program destroys, and the requests of a listener.
 */
void cm_id_end(struct cm_id *id);
/* The attributes with which a program moves its queue pair to a state. */
int cm_id_qp_attr(const struct cm_id *id, uint32_t state, struct ib_uverbs_qp_attr *attr);
void cm_id_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *route);

#endif
