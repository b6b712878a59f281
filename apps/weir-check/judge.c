/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares all facts with the load. */
#include "judge.h"

/* Moves the findings of higher severity to the front, and keeps the order of the others. */
static void sort(struct findings *findings)
{
	for (uint32_t i = 1; i < findings->n; i++) {
		struct finding finding = findings->list[i];
		uint32_t at = i;

		for (; at > 0 && findings->list[at - 1].severity < finding.severity; at--)
			findings->list[at] = findings->list[at - 1];
		findings->list[at] = finding;
	}
}

void judge(const struct facts *facts, const struct load *load, struct findings *findings)
{
	judge_cpus(facts, load, findings);
	judge_hugepages(facts, load, findings);
	judge_memory(facts, load, findings);
	judge_isolation(facts, load, findings);
	if (load->is_rdma)
		judge_device(facts, load, findings);
	findings_complete(findings);
	sort(findings);
}
