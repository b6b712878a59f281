/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SEND_H
#define SEND_H

/* Executes work requests of send queues. */

#include "receive.h"

/*
 * Executes the entry at the head of a send queue, and completes it. Returns RESULT_WAIT if it has
 * to wait, and RESULT_FAILED if the queue pair is in the error state afterwards.
 */
enum result send_execute_next(struct qp *qp);

#endif
