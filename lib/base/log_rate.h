/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_RATE_H
#define LOG_RATE_H

/* Limits the log lines of one kind that a peer can cause to LOG_RATE_LINES per window of
 * LOG_RATE_WINDOW_NS, and counts the lines that were left out. */

#include <weir/common.h>

#define LOG_RATE_LINES	   5u
#define LOG_RATE_WINDOW_NS 1000000000u

struct log_rate {
	uint64_t window_ns; /* time at which the current window started */
	uint32_t lines;	    /* lines that were written in the current window */
	uint32_t left_out;  /* lines that were left out since the latest written line */
};

/* Returns true, and counts the line, if a line is allowed at the time now_ns. *left_out is then the
 * number of lines that were left out since the previous written line. Returns false if the line
 * must be left out. *left_out is then not set. */
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
