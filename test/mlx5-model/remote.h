/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REMOTE_H
#define REMOTE_H

/*
 * Work requests for a queue pair of another process. One request of a queue pair is sent at a time,
 * and the device of the other process answers it.
 */

#include "late.h"
#include "link.h"

/* Returns whether the work request at the head of the send queue has to wait, for its answer or for
 * its next attempt. */
bool remote_has_to_wait(const struct qp *qp);
/* Returns whether the work request at the head has been answered. */
bool remote_is_answered(const struct qp *qp);

/*
 * Sends the work request at the head, whose local memory is 'pieces', and returns RESULT_SENT. Once
 * it is answered, the function returns the result and stores *syndrome. It returns RESULT_WAIT if
 * the other queue pair has no receive. After a successful RDMA READ, qp->remote.data has the data.
 */
enum result remote_execute(struct qp *qp, const struct work *work, const struct pieces *pieces,
			   uint8_t *syndrome);
/* Forgets the request that was sent, and its answer. */
void remote_forget(struct qp *qp);

/* Lets the peer try again, if it waits for a receive and one is there. Returns whether it did. */
bool remote_offer_receive(struct qp *qp);

/* Handle what arrives from another process. */
void remote_on_request(struct link *link, const struct link_message *request, const uint8_t *data);
void remote_on_answer(const struct link *link, const struct link_message *answer,
		      const uint8_t *data);
void remote_on_again(const struct link *link);

#endif
