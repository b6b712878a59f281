/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes families of metrics: family.h describes this. */
#include "family.h"

#include <inttypes.h>

#define NS_PER_S 1000000000u

static const char *family_suffix(enum family_type type)
{
	switch (type) {
	case FAMILY_COUNTER:
		return "_total";
	case FAMILY_INFO:
		return "_info";
	default:
		return "";
	}
}

static const char *type_name(const struct family_out *out, enum family_type type)
{
	switch (type) {
	case FAMILY_COUNTER:
		return "counter";
	case FAMILY_INFO:
		return out->format == PAGE_OPENMETRICS ? "info" : "gauge";
	case FAMILY_HISTOGRAM:
		return "histogram";
	case FAMILY_SUMMARY:
		return "summary";
	default:
		return "gauge";
	}
}

/* Writes a text with what its format escapes: backslashes and ends of lines, and in OpenMetrics and
 * in labels also quotation marks. */
static void put_escaped(const struct family_out *out, const char *text, int escapes_quotes)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || (*text == '"' && escapes_quotes))
			fprintf(out->file, "\\%c", *text);
		else if (*text == '\n')
			fputs("\\n", out->file);
		else
			fputc(*text, out->file);
	}
}

void family_begin(const struct family_out *out, const struct family *family)
{
	const char *suffix = out->format == PAGE_OPENMETRICS ? "" : family_suffix(family->type);

	fprintf(out->file, "# TYPE %s%s %s\n", family->name, suffix, type_name(out, family->type));
	if (family->unit && out->format == PAGE_OPENMETRICS)
		fprintf(out->file, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(out->file, "# HELP %s%s ", family->name, suffix);
	put_escaped(out, family->help, out->format == PAGE_OPENMETRICS);
	fputc('\n', out->file);
}

void family_name(const struct family_out *out, const struct family *family, const char *suffix)
{
	fprintf(out->file, "%s%s", family->name, suffix ? suffix : family_suffix(family->type));
}

void family_label(const struct family_out *out, char separator, const char *name, const char *value)
{
	fprintf(out->file, "%c%s=\"", separator, name);
	put_escaped(out, value, 1);
	fputc('"', out->file);
}

void family_label_number(const struct family_out *out, char separator, const char *name,
			 uint64_t value)
{
	fprintf(out->file, "%c%s=\"%" PRIu64 "\"", separator, name, value);
}

void family_value(const struct family_out *out, uint64_t value)
{
	fprintf(out->file, "} %" PRIu64 "\n", value);
}

void family_seconds(const struct family_out *out, uint64_t ns)
{
	fprintf(out->file, "} %" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void family_end(const struct family_out *out)
{
	if (out->format == PAGE_OPENMETRICS)
		fputs("# EOF\n", out->file);
}
