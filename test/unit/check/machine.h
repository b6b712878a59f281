/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MACHINE_H
#define MACHINE_H

/* A folder with the files of a machine that lacks nothing. A test changes one file, and looks for
 * the finding about it. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "facts.h"
#include "findings.h"
#include "load.h"

extern char machine_root[64];
extern struct facts *machine_facts;
extern struct load machine_load;
extern struct findings machine_findings;
/* the attributes of the device mlx5_0; the device is not opened if open_error is not 0 */
extern struct ibv_device_attr machine_attr;
extern int machine_open_error;
extern const char *machine_user;
extern uint32_t machine_engines;

/* a profile for this machine: three pinned engines, hugepages and an RDMA device */
#define MACHINE_PROFILE                                                                            \
	"[engine]\nlcores = 1-3\nidle = spin\ndriver = verbs\n[memory]\npages = 2m\n"

int machine_setup(void **state);
int machine_teardown(void **state);

/* Writes a file of the machine. */
void machine_put(const char *path, const char *text);
/* Removes a file or folder of the machine. */
void machine_remove(const char *path);

/* Examines the machine with a profile, which is a text. */
void machine_examine(const char *profile);

/* Examines the machine, and checks that there is exactly one finding except those of lower
 * severity, that it is the one described, and that its cause contains a text. Returns the
 * finding. */
const struct finding *machine_expect(const char *profile, enum severity severity, const char *check,
				     const char *cause);

/* Examines the machine, and checks that there are no findings except notes. */
void machine_expect_nothing(const char *profile);

/* Returns the note about 'check' of the latest examination. The test fails if there is none. */
const struct finding *machine_note(const char *check);

/* Checks that the finding's only step writes a text to a file of the machine. */
void machine_expect_write(const struct finding *finding, const char *path, const char *text);

#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

#endif
