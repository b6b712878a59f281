/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIZED_WHY_H
#define SIZED_WHY_H

/* Reads structures that the application fills in (sized.h), and says what is wrong with them. These
 * functions are not in lib/base, which has no function that formats text. */

#include "sized.h"

/* Size of a buffer for each message, with its NUL. */
#define SIZED_WHY_BYTES 256u

/* Like sized_read(). After an error, 'why' has the reason and the remedy. It has at least
 * SIZED_WHY_BYTES. */
int sized_read_why(const struct sized_type *type, void *own, const void *theirs, char *why);

/* Like sized_check(). After an error, 'why' has the reason and the remedy. */
int sized_check_why(const struct sized_type *type, const void *theirs, char *why);

#endif
