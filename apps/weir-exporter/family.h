/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAMILY_H
#define FAMILY_H

/*
 * Writes families of metrics in the format OpenMetrics 1.0.0, or in the text format 0.0.4 of
 * Prometheus. In OpenMetrics, a family of counters has no suffix "_total", and a family of infos no
 * "_info". The other format names samples.
 */

#include <stdint.h>
#include <stdio.h>

enum page_format {
	PAGE_OPENMETRICS,
	PAGE_PROMETHEUS,
};

enum family_type {
	FAMILY_COUNTER,
	FAMILY_GAUGE,
	FAMILY_INFO,
	FAMILY_HISTOGRAM,
	FAMILY_SUMMARY,
};

/* Each family is written to this file, in this format. */
struct family_out {
	FILE *file;
	enum page_format format;
};

struct family {
	const char *name; /* without suffix */
	const char *unit; /* the end of the name; NULL: none */
	const char *help;
	enum family_type type;
};

/* Writes the lines that describe a family. Its samples follow. */
void family_begin(const struct family_out *out, const struct family *family);

/* Writes the name of a sample up to the first brace: that of the family with the suffix of its
 * type, or with 'suffix' unless that is NULL. */
void family_name(const struct family_out *out, const struct family *family, const char *suffix);

/* Writes a label. 'separator' is '{' for the first one and ',' for the others. */
void family_label(const struct family_out *out, char separator, const char *name,
		  const char *value);
void family_label_number(const struct family_out *out, char separator, const char *name,
			 uint64_t value);

/* Ends a sample that has labels with its value. */
void family_value(const struct family_out *out, uint64_t value);
void family_seconds(const struct family_out *out, uint64_t ns);

/* Ends the page. */
void family_end(const struct family_out *out);

#endif
