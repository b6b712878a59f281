/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_RATE_H
#define LOG_RATE_H

/* Lines that a peer can bring about: a few a second, and how many there were besides. */

#include <weir/common.h>

#define LOG_RATE_LINES	   5u
#define LOG_RATE_WINDOW_NS 1000000000u

struct log_rate {
	uint64_t window_ns; /* when it began */
	uint32_t lines;	    /* in it */
	uint32_t left_out;  /* since the latest line */
};

/* Whether a line may be written; *left_out lines were not since the one before it. */
static inline bool log_rate_take(struct log_rate *rate, uint64_t now_ns, uint32_t *left_out)
{
	if (now_ns - rate->window_ns >= LOG_RATE_WINDOW_NS) {
		rate->window_ns = now_ns;
		rate->lines = 0;
	}
	if (rate->lines >= LOG_RATE_LINES) {
		rate->left_out++;
		return false;
	}
	rate->lines++;
	*left_out = rate->left_out;
	rate->left_out = 0;
	return true;
}

#endif
