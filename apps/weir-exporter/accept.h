/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCEPT_H
#define ACCEPT_H

/* Chooses the format of the page by the header Accept of a request (RFC 9110 section 12.5.1). */

#include "family.h"

/* Returns the format that the header prefers, or OpenMetrics if it prefers neither. NULL: the
 * request has no such header. */
enum page_format accept_format(const char *header);

/* Returns the content type of a format. */
const char *accept_content_type(enum page_format format);

#endif
