/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the occasions at which faults occur: by plan, or by the device's own random numbers. */
#include "fault_dev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OFTEN 16u

static const struct {
	const char *name;
	uint32_t weight;
} kinds_table[FAULT_NKINDS] = {
	[FAULT_WR] = {"wr", 1},
	[FAULT_WR_LATE] = {"late", 1},
	[FAULT_RECV] = {"recv", 1},
	[FAULT_DELAY] = {"delay", OFTEN},
	[FAULT_REORDER] = {"reorder", OFTEN},
	[FAULT_DROP] = {"drop", 1},
	[FAULT_CONNECTING] = {"connecting", OFTEN},
	[FAULT_FAILED] = {"failed", OFTEN},
	[FAULT_REJECTED] = {"rejected", OFTEN},
	[FAULT_ACCEPTED] = {"accepted", OFTEN},
	[FAULT_DISCONNECTING] = {"disconnecting", OFTEN},
	[FAULT_PREFIX] = {"prefix", 1},
	[FAULT_CONNECT] = {"connect", OFTEN},
	[FAULT_ACCEPT] = {"accept", OFTEN},
	[FAULT_LISTEN] = {"listen", OFTEN},
	[FAULT_MR] = {"mr", OFTEN},
	[FAULT_MW] = {"mw", OFTEN},
	[FAULT_UNLISTENED] = {"unlistened", 1},
};

static const char *const statuses[] = {
	[FABRIC_ERR_LOCAL_LEN] = "local_len",
	[FABRIC_ERR_LOCAL_PROT] = "local_prot",
	[FABRIC_ERR_REMOTE_ACCESS] = "remote_access",
	[FABRIC_ERR_RNR] = "rnr",
	[FABRIC_ERR_REMOTE_LEN] = "remote_len",
	[FABRIC_ERR_RETRY] = "retry",
	[FABRIC_ERR_FLUSHED] = "flushed",
	[FABRIC_ERR_FATAL] = "fatal",
};

const char *fault_kind_name(enum fault_kind kind)
{
	return kinds_table[kind].name;
}

/* The generator is splitmix64. */
uint64_t fault_random(struct fault_dev *dev, uint64_t limit)
{
	uint64_t z = (dev->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % limit;
}

bool fault_fires(struct fault_dev *dev, enum fault_kind kind, int *how)
{
	uint64_t occasion = ++dev->occasions[kind];
	bool fires = false;

	*how = FAULT_SOME_HOW;
	for (uint32_t i = 0; i < FAULT_PLANS_MAX; i++) {
		struct fault_plan *plan = &dev->plans[i];

		if (plan->at == occasion && plan->kind == kind) {
			*how = plan->how;
			plan->at = 0;
			fires = true;
		}
	}
	if (!fires && dev->one_in && dev->kinds >> kind & 1)
		fires = fault_random(dev, dev->one_in) < kinds_table[kind].weight;
	dev->injected[kind] += fires;
	return fires;
}

bool fault_at(struct fabric_dev *fdev, enum fault_kind kind, uint64_t nth, int how)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	for (uint32_t i = 0; i < FAULT_PLANS_MAX; i++) {
		if (dev->plans[i].at == 0) {
			dev->plans[i] = (struct fault_plan){kind, dev->occasions[kind] + nth, how};
			return true;
		}
	}
	return false;
}

void fault_forget(struct fabric_dev *dev)
{
	memset(((struct fault_dev *)dev)->plans, 0, sizeof(((struct fault_dev *)dev)->plans));
}

void fault_rate(struct fabric_dev *fdev, uint32_t kinds, uint32_t one_in)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	dev->kinds = kinds;
	dev->one_in = one_in;
}

uint64_t fault_occasions(const struct fabric_dev *dev, enum fault_kind kind)
{
	return ((const struct fault_dev *)dev)->occasions[kind];
}

uint64_t fault_injected(const struct fabric_dev *dev, enum fault_kind kind)
{
	return ((const struct fault_dev *)dev)->injected[kind];
}

uint32_t fault_held(const struct fabric_dev *fdev)
{
	const struct fault_dev *dev = (const struct fault_dev *)fdev;

	return dev->ncq + dev->nevents;
}

static int name_index(const char *const *names, uint32_t n, const char *text, size_t len)
{
	for (uint32_t i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
			return (int)i;
	return -1;
}

void fault_list_add(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	if (name)
		snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

void fault_kinds_list(char *list, size_t size)
{
	list[0] = '\0';
	for (uint32_t i = 0; i < FAULT_NKINDS; i++)
		fault_list_add(list, size, kinds_table[i].name);
}

void fault_statuses_list(char *list, size_t size)
{
	list[0] = '\0';
	for (uint32_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		fault_list_add(list, size, statuses[i]);
}

/* Parses "all", or names of kinds such as "wr+drop", into a mask of kinds. Returns 0 or -EINVAL. */
int fault_kinds_parse(const char *text, uint32_t *kinds)
{
	const char *names[FAULT_NKINDS];

	for (uint32_t i = 0; i < FAULT_NKINDS; i++)
		names[i] = kinds_table[i].name;
	*kinds = 0;
	if (strcmp(text, "all") == 0) {
		*kinds = FAULT_ALL;
		return 0;
	}
	for (;;) {
		size_t len = strcspn(text, "+");
		int kind = name_index(names, FAULT_NKINDS, text, len);

		if (kind < 0)
			return -EINVAL;
		*kinds |= 1u << kind;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
}

int fault_status_parse(const char *text, int *status)
{
	int found =
		name_index(statuses, sizeof(statuses) / sizeof(statuses[0]), text, strlen(text));

	if (found < 0)
		return -EINVAL;
	*status = found;
	return 0;
}

enum fabric_status fault_status(struct fault_dev *dev, enum fabric_op op, int how)
{
	static const enum fabric_status send[] = {FABRIC_ERR_RNR, FABRIC_ERR_REMOTE_LEN,
						  FABRIC_ERR_RETRY, FABRIC_ERR_FATAL};
	static const enum fabric_status rdma[] = {FABRIC_ERR_REMOTE_ACCESS, FABRIC_ERR_RETRY,
						  FABRIC_ERR_REMOTE_ACCESS, FABRIC_ERR_FATAL};
	static const enum fabric_status local[] = {FABRIC_ERR_LOCAL_PROT, FABRIC_ERR_LOCAL_LEN,
						   FABRIC_ERR_LOCAL_PROT, FABRIC_ERR_FATAL};

	if (how > FABRIC_OK && how <= FABRIC_ERR_FATAL)
		return (enum fabric_status)how;
	switch (op) {
	case FABRIC_SEND:
	case FABRIC_SEND_INV:
		return send[fault_random(dev, 4)];
	case FABRIC_WRITE:
	case FABRIC_READ:
		return rdma[fault_random(dev, 4)];
	default:
		return local[fault_random(dev, 4)];
	}
}
