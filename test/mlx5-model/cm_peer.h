/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_PEER_H
#define CM_PEER_H

/* Handle what arrives by the link of a connection. */

#include "link.h"

void cm_peer_on_message(struct link *link, const struct link_message *message, const uint8_t *data);
void cm_peer_on_loss(struct link *link);

#endif
