/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "nfs3_xdr.h"

/* Returns the monotonic time that the engines' polls use, in nanoseconds. */
static inline uint64_t server_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the time of day in the format of the times of files. */
static inline struct nfs3_time time_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (struct nfs3_time){(uint32_t)ts.tv_sec, (uint32_t)ts.tv_nsec};
}

#endif
