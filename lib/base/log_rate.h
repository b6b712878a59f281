/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_RATE_H
#define LOG_RATE_H

/* Limits the log lines that a peer can cause to a few in each second, and counts the lines that
 * were left out. */

#include <weir/common.h>

#define LOG_RATE_LINES	   5u
#define LOG_RATE_WINDOW_NS 1000000000u

struct log_rate {
	uint64_t window_ns; /* start of the window */
	uint32_t lines;	    /* lines in the window */
	uint32_t left_out;  /* lines that were left out since the latest line */
};

/* Returns whether a line may be written. If it may, *left_out is the number of lines that were left
 * out since the previous line. */
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
