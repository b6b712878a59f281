/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints findings as JSON. A key that exists is never removed, and its meaning never changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report.h"

#define SCHEMA 1

/* Returns a string. Bytes that are not UTF-8, such as those of a path, become '?'. */
static json_t *string_of(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);
	char *copy;

	if (string)
		return string;
	copy = strndup(text, len);
	for (size_t i = 0; copy && i < len; i++)
		if ((unsigned char)copy[i] >= 0x80)
			copy[i] = '?';
	string = copy ? json_stringn(copy, len) : NULL;
	free(copy);
	return string;
}

static json_t *text_of(const char *text)
{
	return string_of(text, strlen(text));
}

/* Returns an array of the lines of a text. */
static json_t *lines_of(const char *text)
{
	json_t *array = json_array();
	size_t len;

	for (const char *line = text; line; line = line[len] ? line + len + 1 : NULL) {
		len = strcspn(line, "\n");
		json_array_append_new(array, string_of(line, len));
	}
	return array;
}

/* Returns the steps of a remedy: {"path", "text"} or {"argv"}. */
static json_t *steps_of(const struct finding *finding)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < finding->nfixes; i++) {
		const struct fix *fix = &finding->fixes[i];
		json_t *argv;

		if (fix->path) {
			json_array_append_new(array,
					      json_pack("{s:o, s:o}", "path", text_of(fix->path),
							"text", text_of(fix->text)));
			continue;
		}
		argv = json_array();
		for (uint32_t k = 0; fix->argv[k]; k++)
			json_array_append_new(argv, text_of(fix->argv[k]));
		json_array_append_new(array, json_pack("{s:o}", "argv", argv));
	}
	return array;
}

static json_t *findings_of(const struct findings *findings)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->list[i];

		json_array_append_new(
			array, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "severity",
					 severity_name(finding->severity), "check", finding->check,
					 "cause", text_of(finding->cause), "effect",
					 text_of(finding->effect), "remedy",
					 lines_of(finding->remedy), "steps", steps_of(finding)));
	}
	return array;
}

/* Appends the hugepages of one size, of a NUMA node or, if 'node' is -1, of the machine. */
static void append_pages(json_t *array, const struct report *report, enum page_size size, int node)
{
	const struct page_facts *pages =
		node < 0 ? &report->facts->pages[size] : &report->facts->nodes[node].pages[size];
	uint64_t needed =
		node < 0 ? report->load->pages[size] : report->load->node_pages[node][size];

	if (!pages->exist)
		return;
	json_array_append_new(array,
			      json_pack("{s:I, s:o, s:I, s:I, s:I}", "page_bytes",
					(json_int_t)facts_page_bytes(size), "node",
					node < 0 ? json_null() : json_integer(node), "needed",
					(json_int_t)needed, "free", (json_int_t)pages->free,
					"total", (json_int_t)pages->total));
}

static json_t *hugepages_of(const struct report *report)
{
	json_t *array = json_array();

	for (uint32_t size = 0; size < PAGE_SIZES; size++) {
		append_pages(array, report, (enum page_size)size, -1);
		for (int node = 0; report->facts->nnodes > 1 && node < (int)FACTS_NODES_MAX; node++)
			append_pages(array, report, (enum page_size)size, node);
	}
	return array;
}

static json_t *pools_of(const struct needs *needs)
{
	json_t *pools = json_array();

	for (uint32_t i = 0; i < needs->npools; i++)
		json_array_append_new(pools, json_pack("{s:s, s:I}", "name", needs->pools[i].name,
						       "bytes", (json_int_t)needs->pools[i].bytes));
	return pools;
}

/* Returns the engines by section of the profile. */
static json_t *sections_of(const struct load *load)
{
	json_t *sections = json_array();

	for (uint32_t i = 0; i < load->nparts; i++) {
		const struct load_part *part = &load->parts[i];

		json_array_append_new(sections,
				      json_pack("{s:s, s:i, s:I, s:o}", "section", part->section,
						"engines", (int)part->nengines, "engine_bytes",
						(json_int_t)part->needs.bytes, "pools",
						pools_of(&part->needs)));
	}
	return sections;
}

static json_t *memory_of(const struct load *load)
{
	const struct needs *first = &load->parts[0].needs;

	return json_pack("{s:i, s:b, s:I, s:I, s:o, s:o}", "engines", (int)load->nengines,
			 "is_assumed", load->is_assumed, "engine_bytes", (json_int_t)first->bytes,
			 "bytes", (json_int_t)load->bytes, "pools", pools_of(first), "sections",
			 sections_of(load));
}

int report_json(const struct report *report)
{
	json_t *root = json_pack("{s:i, s:o, s:s, s:o, s:o, s:o}", "schema", SCHEMA, "profile",
				 text_of(report->path), "status", report_status(report->findings),
				 "memory", memory_of(report->load), "hugepages",
				 hugepages_of(report), "findings", findings_of(report->findings));

	if (!root)
		return -1;
	(void)json_dumpf(root, stdout, JSON_INDENT(2)); /* std_io_finish() finds errors */
	putchar('\n');
	json_decref(root);
	return 0;
}
