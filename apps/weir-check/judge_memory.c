/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the memory and its limits with what the load needs. */
#include <inttypes.h>
#include <stdio.h>

#include "judge.h"
#include "sysfile.h"

#define MIB(bytes) ((uint64_t)(bytes) >> 20)

static void judge_room(const struct facts *facts, const struct load *load,
		       struct findings *findings)
{
	struct finding *finding;

	if (load->bytes <= facts->room.bytes)
		return;
	finding = findings_add(findings, SEVERITY_ERROR, "memory");
	finding_cause(finding,
		      "The buffers take %" PRIu64 " MiB, and %" PRIu64 " MiB are available (%s)",
		      MIB(load->bytes), MIB(facts->room.bytes), facts->room.limited_by);
	finding_effect(finding, "Engines can't be created, or the kernel kills a process");
	finding_remedy(finding,
		       "lower the counts in section [memory] of the profile, or name fewer "
		       "CPUs in lcores");
	finding_remedy(finding, "or free memory, or raise the limit in %s", facts->room.limited_by);
	if (facts->has_dev_shm && facts->dev_shm_used_bytes >= UINT64_C(1) << 20)
		finding_remedy(finding, "or delete files in /dev/shm, which take %" PRIu64 " MiB",
			       MIB(facts->dev_shm_used_bytes));
}

/* Reports a small /dev/shm, because other software for shared memory needs one. */
static void judge_dev_shm(const struct facts *facts, const struct load *load,
			  struct findings *findings)
{
	uint64_t left = facts->dev_shm_bytes - facts->dev_shm_used_bytes;
	struct finding *finding;

	if (facts->has_dev_shm && left >= load->bytes)
		return;
	finding = findings_add(findings, SEVERITY_NOTE, "/dev/shm");
	if (facts->has_dev_shm)
		finding_cause(finding,
			      "/dev/shm has %" PRIu64 " MiB left, and the buffers take %" PRIu64
			      " MiB",
			      MIB(left), MIB(load->bytes));
	else
		finding_cause(finding, "/dev/shm is not mounted");
	finding_effect(finding, "There is none for weir, whose shared memory is not in /dev/shm "
				"(memfd_create)");
	finding_remedy(finding, "nothing has to be done for weir");
}

/* Adds the remedies of a limit of locked memory that is too low, and the step for a user. */
static void raise_memlock(const struct facts *facts, uint64_t bytes, struct finding *finding)
{
	const char *user = facts->user[0] ? facts->user : "USER";
	char path[SYSFILE_PATH_BYTES], line[128];

	if (facts->user[0] == '\0' && facts->memlock_hard_bytes >= bytes)
		finding_remedy(finding, "in the shell, before the program: ulimit -l unlimited");
	else if (facts->user[0] == '\0')
		finding_remedy(finding,
			       "as root, for this shell: prlimit --pid $$ --memlock=unlimited");
	finding_remedy(finding,
		       "as root, from the next login of the user on: echo '%s - memlock unlimited' "
		       "> /etc/security/limits.d/60-weir-%s.conf",
		       user, user);
	finding_remedy(finding, "for a service: LimitMEMLOCK=infinity in section [Service] of its "
				"unit");
	if (facts->user[0] == '\0')
		return;
	sysfile_path(path, facts->root, "/etc/security/limits.d/60-weir-%s.conf", user);
	snprintf(line, sizeof(line), "%s - memlock unlimited\n", user);
	finding_create(finding, path, line);
}

static void judge_memlock(const struct facts *facts, const struct load *load,
			  struct findings *findings)
{
	uint64_t bytes = load->registered_bytes;
	bool is_note = facts->may_lock_all || !facts->has_memlock;
	struct finding *finding;

	if (!load->is_rdma || (facts->has_memlock && facts->memlock_bytes >= bytes))
		return;
	finding = findings_add(findings, is_note ? SEVERITY_NOTE : SEVERITY_ERROR, "memlock");
	if (!facts->has_memlock)
		finding_cause(finding, "The limit of locked memory can't be read from /proc");
	else
		finding_cause(finding,
			      "The engines register %" PRIu64 " MiB with the device, and the limit "
			      "of locked memory%s%s is %" PRIu64 " MiB (RLIMIT_MEMLOCK)",
			      MIB(bytes), facts->user[0] ? " of user " : "", facts->user,
			      MIB(facts->memlock_bytes));
	if (facts->may_lock_all)
		finding_effect(finding, "There is none for this user, who has CAP_IPC_LOCK. A "
					"program of another user may not create engines: --user "
					"examines that user");
	else
		finding_effect(finding, "The registration fails, and engines can't be created");
	raise_memlock(facts, bytes, finding);
}

void judge_memory(const struct facts *facts, const struct load *load, struct findings *findings)
{
	judge_room(facts, load, findings);
	judge_memlock(facts, load, findings);
	judge_dev_shm(facts, load, findings);
}
