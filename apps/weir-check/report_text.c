/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints findings as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define MIB(bytes) ((uint64_t)(bytes) >> 20)

const char *report_status(const struct findings *findings)
{
	if (findings_count(findings, SEVERITY_ERROR) > 0)
		return "error";
	return findings_count(findings, SEVERITY_WARNING) > 0 ? "warning" : "ok";
}

static void print_pages(const struct report *report, enum page_size size, int node)
{
	const struct page_facts *pages =
		node < 0 ? &report->facts->pages[size] : &report->facts->nodes[node].pages[size];
	uint64_t needed =
		node < 0 ? report->load->pages[size] : report->load->node_pages[node][size];
	char where[32] = "";

	if (!pages->exist)
		return;
	if (node >= 0)
		snprintf(where, sizeof(where), " on NUMA node %d", node);
	printf("hugepages of %s%s: %" PRIu64 " needed, %" PRIu64 " of %" PRIu64 " free\n",
	       size == PAGES_1G ? "1 GiB" : "2 MiB", where, needed, pages->free, pages->total);
}

static void print_needs(const struct report *report)
{
	const struct load *load = report->load;

	printf("memory: ");
	for (uint32_t i = 0; i < load->nparts; i++) {
		const struct load_part *part = &load->parts[i];

		printf("%u engine%s with %" PRIu64 " MiB of buffers each", part->nengines,
		       part->nengines == 1 ? "" : "s", MIB(part->needs.bytes));
		if (load->nparts > 1)
			printf(" [%s]", part->section);
		printf(", ");
	}
	printf("%" PRIu64 " MiB in total%s\n", MIB(load->bytes),
	       load->is_assumed ? " (the profile names no CPUs; see --engines)" : "");
	for (uint32_t size = 0; size < PAGE_SIZES; size++) {
		print_pages(report, (enum page_size)size, -1);
		for (int node = 0; report->facts->nnodes > 1 && node < (int)FACTS_NODES_MAX; node++)
			print_pages(report, (enum page_size)size, node);
	}
}

/* Prints a text of several lines, which begin in the same column. */
static void print_lines(const char *name, const char *text)
{
	size_t len;

	for (const char *line = text; line; line = line[len] ? line + len + 1 : NULL) {
		len = strcspn(line, "\n");
		printf("  %-7s %.*s\n", line == text ? name : "", (int)len, line);
	}
}

static void print_finding(const struct finding *finding)
{
	printf("\n%s: %s\n", severity_name(finding->severity), finding->check);
	print_lines("cause:", finding->cause);
	print_lines("effect:", finding->effect);
	print_lines("remedy:", finding->remedy);
}

void report_text(const struct report *report)
{
	const struct findings *findings = report->findings;
	uint32_t notes = findings_count(findings, SEVERITY_NOTE);
	uint32_t warnings = findings_count(findings, SEVERITY_WARNING);
	uint32_t errors = findings_count(findings, SEVERITY_ERROR);

	printf("profile: %s\n", report->path);
	print_needs(report);
	for (uint32_t i = 0; i < findings->n; i++)
		if (findings->list[i].severity != SEVERITY_NOTE || report->has_notes)
			print_finding(&findings->list[i]);
	putchar('\n');
	if (errors + warnings == 0)
		printf("nothing to report");
	else
		printf("%u error%s, %u warning%s", errors, errors == 1 ? "" : "s", warnings,
		       warnings == 1 ? "" : "s");
	if (notes > 0 && !report->has_notes)
		printf(" (%u note%s: see --verbose)", notes, notes == 1 ? "" : "s");
	putchar('\n');
}
