/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a page for a browser: report.html with the JSON inside. The page needs no other file. */
#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "report_page.h"

/*
 * Escapes each '<', which could end the script element that holds the data. In JSON it can only be
 * in a string, where the escape is valid.
 */
static void write_data(FILE *file, const char *json)
{
	for (; *json != '\0'; json++) {
		if (*json == '<')
			fputs("\\u003c", file);
		else
			putc(*json, file);
	}
}

int bench_report_html(FILE *file, const json_t *root)
{
	char *json = json_dumps(root, JSON_COMPACT);

	if (!json)
		return -1;
	fwrite(page_head, 1, sizeof(page_head), file);
	write_data(file, json);
	fwrite(page_tail, 1, sizeof(page_tail), file);
	free(json);
	return ferror(file) ? -1 : 0;
}
