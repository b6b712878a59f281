/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUERY_H
#define QUERY_H

/* Attributes of the device and of its port. The functions return 0 or a positive errno. */

#include "attr.h"

#define QUERY_GUID 0x0002c90300fade01ull /* sysfs.c has it as text */

int query_context(const struct call *call);
int query_device(const struct call *call);
int query_device_ex(const struct call *call);
int query_port(const struct call *call);

#endif
