/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a file system below an export that hangs. Clients that use it are asked to try again,
 * and no other client is affected. The tests need root. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "fuse.h"
#include "mount_client.h"

#define OTHERS 20 /* number of calls that are made while others hang */
/* number of calls that are carried out by threads; more than there are threads */
#define THREADS 20
#define READS                                                                                      \
	12 /* that hang: more than the kernel has threads for on a small host, fewer than a        \
	      connection's credits */
#define QUEUED	    24 /* number of WRITEs; fewer than a connection's credits */
#define WRITES_FILE 4  /* number of WRITEs that the kernel carries out at a time for one file */
#define TRIES	    1000
#define WAITS	    60000 /* number of waits of one millisecond each */
#define STEADY	    "f63"
#define EXIT_HUNG   4

static bool is_mounted;
static char hangs[96]; /* the directory on which the file system is mounted */
static struct client other;
static struct nfs3_fh *vol; /* the root of an export that does not hang */
static struct nfs3_fh files[FUSE_FILES], steady, plain;
static char mount_port[8];

static int setup_group(void **state)
{
	(void)state;
	snprintf(hangs, sizeof(hangs), "%s/hangs", client_dir);
	if (mkdir(hangs, 0777) != 0)
		return -1;
	is_mounted = fuse_mount(hangs);
	return 0;
}

static int teardown_group(void **state)
{
	(void)state;
	if (is_mounted)
		fuse_unmount();
	return 0;
}

static void look_up_files(void)
{
	for (uint32_t i = 0; i < FUSE_FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(client_lookup(c, &root, name, &files[i]), NFS3_OK);
	}
	steady = files[FUSE_FILES - 1];
}

/* Finds a free port for MOUNT, and stores it in mount_port. */
static void find_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	snprintf(mount_port, sizeof(mount_port), "%u", ntohs(at.sin_port));
}

static int setup_hung(void **state)
{
	static int serial;
	char exports[96], dir[96];
	const char *args[] = {"--exports",    exports,	  "--state", client_dir,
			      "--mount-port", mount_port, NULL};
	FILE *file;

	(void)state;
	c = NULL;
	if (!is_mounted)
		return 0;
	snprintf(exports, sizeof(exports), "%s/exports", client_dir);
	snprintf(dir, sizeof(dir), "%s/vol-%d", client_dir, serial++);
	assert_int_equal(mkdir(dir, 0777), 0);
	file = fopen(exports, "w");
	assert_non_null(file);
	fprintf(file, "[/hangs]\nbackend = dir:%s\nroot_squash = no\n", hangs);
	fprintf(file, "[/vol]\nbackend = dir:%s\nroot_squash = no\n", dir);
	fclose(file);
	find_port();
	start(args);
	c->uid = c->gid = 0;
	client_join(&other, c);
	other.is_patient = true; /* during the set-up, on a busy machine */
	vol = &c->roots[1];
	look_up_files();
	assert_int_equal(client_create(&other, vol, "plain", &plain), NFS3_OK);
	assert_int_equal(client_write(&other, &plain, 0, 4096, NFS3_FILE_SYNC), NFS3_OK);
	return 0;
}

/* Lets calls of one kind hang. From here on, each answer to the other client counts:
 * NFS3ERR_JUKEBOX would mean that its call has waited for a call that hangs. */
static void withhold(uint32_t opcode)
{
	other.is_patient = false;
	fuse_withhold(opcode);
}

static int teardown_hung(void **state)
{
	(void)state;
	if (!c)
		return 0;
	fuse_release();
	client_stop(&other);
	client_stop(c);
	return 0;
}

static void need_fuse(void)
{
	if (c)
		return;
	print_message("no FUSE mount here (/dev/fuse, CAP_SYS_ADMIN): not tested\n");
	skip();
}

/* Waits until n answers are withheld. Polls meanwhile, because the client may have to send. */
static void wait_withheld(uint32_t n)
{
	for (uint32_t i = 0; i < WAITS && fuse_withheld() < n; i++) {
		client_poll(c);
		poll(NULL, 0, 1);
	}
	if (fuse_withheld() < n)
		fail_msg("%u of %u answers are withheld, and %d calls have ended", fuse_withheld(),
			 n, c->done);
}

static void set_file(const struct nfs3_fh *fh)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.fh = *fh;
}

static void begin_read(const struct nfs3_fh *fh)
{
	set_file(fh);
	c->args.read.count = 4096;
	client_begin(c, NFS3_READ);
}

static void begin_call(uint32_t proc, const struct nfs3_fh *fh)
{
	set_file(fh);
	client_begin(c, proc);
}

/* Makes calls on another connection, to an export and to files of this one that do not hang. */
static void others_go_on(void)
{
	for (int i = 0; i < OTHERS; i++) {
		assert_int_equal(client_read(&other, &plain, 0, 4096), NFS3_OK);
		assert_int_equal(client_write(&other, &plain, 0, 4096, NFS3_UNSTABLE), NFS3_OK);
		assert_int_equal(client_getattr(&other, vol, NULL), NFS3_OK);
		assert_int_equal(client_read(&other, &steady, 0, 4096), NFS3_OK);
		assert_int_equal(client_getattr(&other, &steady, NULL), NFS3_OK);
	}
}

/* Checks that n hanging calls of 'c' get NFS3ERR_JUKEBOX, and that its connection still works. */
static void all_are_to_come_back(int n)
{
	client_end(c, n);
	assert_int_equal(c->njukebox, n);
	assert_int_equal(client_getattr(c, vol, NULL), NFS3_OK);
}

static void read__that_hangs_is_to_be_tried_again(void **state)
{
	(void)state;
	need_fuse();
	withhold(FUSE_READ);
	begin_read(&files[1]);
	wait_withheld(1);
	others_go_on();
	all_are_to_come_back(1);
	fuse_release();
	assert_int_equal(client_read(c, &files[1], 0, 4096), NFS3_OK);
	assert_int_equal(c->data[0], '1');
}

/* Checks more READs that hang than the kernel has threads for by default. */
static void reads__that_hang_leave_threads_to_others(void **state)
{
	(void)state;
	need_fuse();
	withhold(FUSE_READ);
	for (uint32_t i = 0; i < READS; i++)
		begin_read(&files[i]);
	/* Without the limit that the server sets, the number of threads depends on the number of
	 * the host's processors. */
	wait_withheld(READS);
	others_go_on();
	all_are_to_come_back(READS);
}

/* Checks attributes of open files, which the polling thread reads itself. */
static void attributes__that_hang_hold_no_other(void **state)
{
	(void)state;
	need_fuse();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(client_read(c, &files[i], 0, 4096), NFS3_OK);
	withhold(FUSE_GETATTR);
	/* The polling thread uses attributes that another thread read recently. When they are too
	 * old, it must not read them itself. */
	for (uint32_t i = 0; i < 4; i++)
		begin_read(&files[i]);
	others_go_on();
	client_end(c, 4);
	for (int i = 0; i < TRIES && fuse_withheld() == 0; i++) {
		begin_read(&files[0]);
		others_go_on();
		client_end(c, 1);
	}
	wait_withheld(1);
	assert_int_equal(c->res.status, NFS3ERR_JUKEBOX);
	fuse_release();
	assert_int_equal(client_read(c, &files[0], 0, 4096), NFS3_OK);
}

static void threads__that_hang_are_few(void **state)
{
	(void)state;
	need_fuse();
	withhold(FUSE_GETATTR);
	for (uint32_t i = 0; i < THREADS; i++)
		begin_call(NFS3_GETATTR, &files[i]);
	wait_withheld(4);
	others_go_on();
	all_are_to_come_back(THREADS);
	fuse_release();
	assert_int_equal(client_getattr(c, &files[0], NULL), NFS3_OK);
}

static enum nfs3_status write_until_done(uint32_t i)
{
	enum nfs3_status status = NFS3ERR_JUKEBOX;

	for (int j = 0; j < TRIES && status == NFS3ERR_JUKEBOX; j++) {
		status = client_write(c, &files[i], 0, 4096, NFS3_FILE_SYNC);
		poll(NULL, 0, 1);
	}
	return status;
}

static void write_hangs(uint32_t opcode, bool is_inline)
{
	uint32_t before;

	need_fuse();
	c->sends_inline = is_inline;
	withhold(opcode);
	set_file(&files[2]);
	c->args.write.count = 1024;
	c->args.write.stable = NFS3_FILE_SYNC;
	client_begin(c, NFS3_WRITE);
	wait_withheld(1);
	others_go_on();
	all_are_to_come_back(1);
	/* The first WRITE can still be carried out, so that a second one must not precede it. */
	before = fuse_answered(FUSE_WRITE);
	if (opcode == FUSE_WRITE) {
		assert_int_equal(client_write(c, &files[2], 0, 1024, NFS3_FILE_SYNC),
				 NFS3ERR_JUKEBOX);
		assert_int_equal(fuse_answered(FUSE_WRITE), before);
	}
	fuse_release();
	c->sends_inline = false;
	assert_int_equal(write_until_done(2), NFS3_OK);
}

static void write__that_hangs_is_to_be_tried_again(void **state)
{
	(void)state;
	write_hangs(FUSE_WRITE, false);
}

static void write__in_a_message_is_to_be_tried_again(void **state)
{
	(void)state;
	write_hangs(FUSE_WRITE, true);
}

static void begin_write(const struct nfs3_fh *fh)
{
	set_file(fh);
	c->args.write.count = 1024;
	client_begin(c, NFS3_WRITE);
}

/* Checks many files. The kernel can distribute WRITEs among a few queues by the inodes of their
 * files, and carry out each queue in order. With so many files, some would be in the queue of a
 * WRITE that hangs. */
static void writes__that_hang_hold_no_other_file(void **state)
{
	struct nfs3_fh fhs[QUEUED];

	(void)state;
	need_fuse();
	for (uint32_t i = 0; i < QUEUED; i++) {
		char name[16];

		snprintf(name, sizeof(name), "other%u", i);
		assert_int_equal(client_create(&other, vol, name, &fhs[i]), NFS3_OK);
		assert_int_equal(client_write(&other, &fhs[i], 0, 1024, NFS3_UNSTABLE), NFS3_OK);
	}
	withhold(FUSE_WRITE);
	for (uint32_t i = 0; i < QUEUED; i++)
		begin_write(&files[i]);
	wait_withheld(QUEUED);
	for (uint32_t i = 0; i < QUEUED; i++)
		assert_int_equal(client_write(&other, &fhs[i], 0, 1024, NFS3_UNSTABLE), NFS3_OK);
	others_go_on();
	all_are_to_come_back(QUEUED);
}

/* Returns the number of threads that the kernel created for io_uring in the server's process. */
static uint32_t count_kernel_threads(void)
{
	char path[64], name[32];
	const struct dirent *task;
	uint32_t n = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)c->server);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", (int)c->server,
			 task->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		n += fgets(name, sizeof(name), file) && strncmp(name, "iou-wrk", 7) == 0;
		fclose(file);
	}
	closedir(tasks);
	return n;
}

/* Checks WRITEs that wait for one file. Each of them needs a thread of the kernel, so that their
 * number must be limited. */
static void writes__of_one_file_are_few(void **state)
{
	uint32_t before, njukebox;

	(void)state;
	need_fuse();
	before = count_kernel_threads();
	withhold(FUSE_WRITE);
	for (uint32_t i = 0; i < QUEUED; i++)
		begin_write(&files[2]);
	wait_withheld(1);
	others_go_on();
	/* two threads for other files */
	assert_true(count_kernel_threads() <= before + WRITES_FILE + 2);
	all_are_to_come_back(QUEUED);
	fuse_release();
	assert_int_equal(write_until_done(2), NFS3_OK);
	/* All waiting WRITEs are carried out, each when an earlier one has ended. */
	njukebox = c->njukebox;
	for (uint32_t i = 0; i < QUEUED; i++)
		begin_write(&files[2]);
	client_end(c, QUEUED);
	assert_int_equal(c->njukebox, njukebox);
}

static void write__whose_sync_hangs_is_to_be_tried_again(void **state)
{
	(void)state;
	write_hangs(FUSE_FSYNC, false);
}

static void commit__that_hangs_is_to_be_tried_again(void **state)
{
	(void)state;
	need_fuse();
	assert_int_equal(client_write(c, &files[3], 0, 4096, NFS3_UNSTABLE), NFS3_OK);
	withhold(FUSE_FSYNC);
	begin_call(NFS3_COMMIT, &files[3]);
	wait_withheld(1);
	others_go_on();
	all_are_to_come_back(1);
	fuse_release();
	set_file(&files[3]);
	assert_int_equal(client_call(c, NFS3_COMMIT), NFS3_OK);
}

/* Checks a change that hangs. It is answered when it ends, and not before, because a second try
 * would make a second change. */
static void change__that_hangs_is_answered_at_its_end(void **state)
{
	(void)state;
	need_fuse();
	withhold(FUSE_SETATTR);
	withhold(FUSE_READ);
	set_file(&files[4]);
	c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = 0600;
	client_begin(c, NFS3_SETATTR);
	wait_withheld(1);
	/* A call that began after the change is answered before it. */
	assert_int_equal(client_read(&other, &files[5], 0, 4096), NFS3ERR_JUKEBOX);
	client_poll(c);
	assert_int_equal(c->done, 0);
	fuse_release();
	client_end(c, 1);
	assert_int_equal(c->res.status, NFS3_OK);
}

static bool has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char have[8192];

	assert_non_null(file);
	have[fread(have, 1, sizeof(have) - 1, file)] = '\0';
	fclose(file);
	return strstr(have, text);
}

static bool wait_for_text(const char *path, const char *text)
{
	for (int i = 0; i < WAITS; i++) {
		if (has_text(path, text))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static int setup_said(void **state)
{
	char path[96];
	int before = dup(STDERR_FILENO), fd, rc;

	snprintf(path, sizeof(path), "%s/said", client_dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDERR_FILENO);
	rc = setup_hung(state);
	dup2(before, STDERR_FILENO);
	close(before);
	close(fd);
	return rc;
}

static void stop__does_not_wait_for_what_hangs(void **state)
{
	char path[96];
	int status;

	(void)state;
	need_fuse();
	snprintf(path, sizeof(path), "%s/said", client_dir);
	withhold(FUSE_READ);
	withhold(FUSE_GETATTR);
	begin_read(&files[6]);
	wait_withheld(1);
	kill(c->server, SIGTERM);
	/* The message in the log names this export, and no other. */
	assert_true(wait_for_text(path, "export /hangs: the file system of "));
	assert_false(has_text(path, "export /vol"));
	fuse_release();
	assert_int_equal(waitpid(c->server, &status, 0), c->server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_HUNG);
	c->server = 0;
}

static int join_mount(uint32_t host)
{
	return mount_connect(host, (uint32_t)strtoul(mount_port, NULL, 10));
}

/* Begins MNT of a directory below the export that hangs. Returns the socket. */
static int begin_mnt(void)
{
	int fd = join_mount(1);

	mount_begin(fd, MOUNT3_MNT, "/hangs/d");
	wait_withheld(1);
	return fd;
}

static void mount__that_hangs_holds_no_other(void **state)
{
	struct mount_reply reply;
	struct nfs3_fh below;
	int hung, fds[2];

	(void)state;
	need_fuse();
	assert_int_equal(client_mkdir(&other, vol, "below", &below), NFS3_OK);
	withhold(FUSE_LOOKUP);
	hung = begin_mnt();
	for (uint32_t i = 0; i < 2; i++) {
		fds[i] = join_mount(1 + i);
		mount_call(fds[i], MOUNT3_NULL, NULL);
		assert_int_equal(mount_call(fds[i], MOUNT3_EXPORT, NULL), 1);
		assert_int_equal(mount_call(fds[i], MOUNT3_MNT, "/hangs"), MOUNT3_OK);
		assert_int_equal(mount_call(fds[i], MOUNT3_MNT, "/vol/below"), MOUNT3_OK);
		assert_int_equal(mount_call(fds[i], MOUNT3_DUMP, NULL), 1);
	}
	mount_end(hung, &reply);
	assert_int_equal(reply.words[0], MOUNT3ERR_IO);
	fuse_release();
	assert_int_equal(mount_call(hung, MOUNT3_MNT, "/hangs/d"), MOUNT3_OK);
	assert_int_equal(mount_call(fds[1], MOUNT3_MNT, "/hangs/f0"), MOUNT3ERR_NOTDIR);
	close(hung);
	close(fds[0]);
	close(fds[1]);
}

static void stop__does_not_wait_for_mount(void **state)
{
	char path[96];
	int status, fd;

	(void)state;
	need_fuse();
	snprintf(path, sizeof(path), "%s/said", client_dir);
	withhold(FUSE_LOOKUP);
	fd = begin_mnt();
	kill(c->server, SIGTERM);
	assert_true(wait_for_text(path, "MOUNT looks for a directory of export /hangs"));
	fuse_release();
	close(fd);
	assert_int_equal(waitpid(c->server, &status, 0), c->server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_HUNG);
	c->server = 0;
}

/* Checks that the server can stop cleanly after calls have hung. */
static void stop__after_all_came_back(void **state)
{
	(void)state;
	need_fuse();
	withhold(FUSE_READ);
	begin_read(&files[7]);
	begin_call(NFS3_READLINK, &files[7]);
	client_end(c, 2);
	fuse_release();
}

#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown_hung)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(read__that_hangs_is_to_be_tried_again, setup_hung),
		TEST(reads__that_hang_leave_threads_to_others, setup_hung),
		TEST(attributes__that_hang_hold_no_other, setup_hung),
		TEST(threads__that_hang_are_few, setup_hung),
		TEST(write__that_hangs_is_to_be_tried_again, setup_hung),
		TEST(write__in_a_message_is_to_be_tried_again, setup_hung),
		TEST(writes__that_hang_hold_no_other_file, setup_hung),
		TEST(writes__of_one_file_are_few, setup_hung),
		TEST(write__whose_sync_hangs_is_to_be_tried_again, setup_hung),
		TEST(commit__that_hangs_is_to_be_tried_again, setup_hung),
		TEST(change__that_hangs_is_answered_at_its_end, setup_hung),
		TEST(mount__that_hangs_holds_no_other, setup_hung),
		TEST(stop__does_not_wait_for_what_hangs, setup_said),
		TEST(stop__does_not_wait_for_mount, setup_said),
		TEST(stop__after_all_came_back, setup_hung),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("dir_hung", tests, setup_group, teardown_group);
}
