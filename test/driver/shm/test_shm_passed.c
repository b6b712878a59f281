/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of descriptors that peers pass. Such a descriptor can be the last reference to a file of
 * any size. The thread that closes or unmaps it then frees the pages of the file. Therefore the
 * reaper must do that. The engine's thread, which is the main thread of this test, must make no
 * system call with such a descriptor. If a small file is sufficient, a larger one is refused.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "eal.h"

#define KEY   (5u << KEY_INDEX_BITS | 9)
#define FILES 64u

static struct end b;
static struct fabric_qp *qps[FILES]; /* filled by accept_one() */
static uint32_t nqps;
static pthread_t main_thread;
static bool is_engine; /* set while the main thread is inside the driver */
static _Atomic uint32_t nwrong, nfreed;

/* The inode numbers of the files that peers passed. */
static ino_t files[FILES];
static _Atomic uint32_t nfiles;

int __real_close(int fd);
int __real_fstat(int fd, struct stat *st);
int __real_fstatfs(int fd, struct statfs *fs);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);

int __wrap_close(int fd);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstatfs(int fd, struct statfs *fs);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);

static bool is_passed(int fd)
{
	struct stat st;

	if (fd < 0 || __real_fstat(fd, &st) != 0)
		return false;
	for (uint32_t i = 0; i < nfiles; i++)
		if (files[i] == st.st_ino)
			return true;
	return false;
}

static bool is_main(void)
{
	return pthread_equal(pthread_self(), main_thread);
}

static bool is_reaper(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return strncmp(name, "weir-shm-reap", 13) == 0;
}

/* Checks a system call that reads the properties of a file. */
static void check_look(int fd)
{
	nwrong += is_main() && is_engine && is_passed(fd);
}

/* Checks a system call that can free a file. The test itself is allowed to make any call. */
static void check_end(bool is_of_peer)
{
	if (!is_of_peer || (is_main() && !is_engine))
		return;
	nfreed++;
	nwrong += !is_reaper();
}

int __wrap_close(int fd)
{
	check_end(is_passed(fd));
	return __real_close(fd);
}

int __wrap_fstat(int fd, struct stat *st)
{
	check_look(fd);
	return __real_fstat(fd, st);
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	check_look(fd);
	return __real_fstatfs(fd, fs);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	check_look(fd);
	return __real_mmap(addr, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *addr, size_t len)
{
	check_end(true);
	return __real_munmap(addr, len);
}

static void add_file(int fd)
{
	struct stat st;

	assert_int_equal(__real_fstat(fd, &st), 0);
	assert_true(nfiles < FILES);
	files[nfiles] = st.st_ino;
	nfiles++;
}

static void add_files(const struct raw *raw)
{
	for (uint32_t i = 0; i < raw->nfds; i++)
		add_file(raw->fds[i]);
}

static int setup(void **state)
{
	(void)state;
	nwrong = nfreed = nfiles = 0;
	is_engine = false;
	nqps = 0;
	end_open(&b, "", 64);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < nqps; i++)
		b.ops->qp_destroy(qps[i]);
	end_close(&b);
	assert_int_equal(nwrong, 0);
	return 0;
}

static void accept_one(void)
{
	END_WAIT(&b, NULL, b.nevents > 0);
	is_engine = true;
	assert_true(nqps < FILES);
	qps[nqps] = end_accept(&b, NULL, &b);
	nqps++;
	is_engine = false;
}

/*
 * Checks muxes that are not accepted, because one process more offers muxes than the device
 * accepts.
 */
static void muxes__of_which_none_are_taken(void **state)
{
	static struct raw raws[MUX_COUNT + 1];
	const char *addr = end_address();

	(void)state;
	end_listen(&b, addr);
	for (uint32_t i = 0; i <= MUX_COUNT; i++) {
		raw_init(&raws[i]);
		raw_offer_mux(&raws[i]);
		add_file(raws[i].fds[2]);
		raw_connect(&raws[i], addr);
		raw_send(&raws[i], &raws[i].hello, sizeof(raws[i].hello), raws[i].fds,
			 raws[i].nfds);
		accept_one();
		assert_true(raw_recv(&raws[i], NULL));
		assert_int_equal(raws[i].answer.has_mux, i < MUX_COUNT);
		END_WAIT(&b, NULL, nfreed > i);
		assert_int_equal(nwrong, 0);
	}
	for (uint32_t i = 0; i <= MUX_COUNT; i++)
		raw_fini(&raws[i]);
}

/*
 * Checks muxes that a peer offers again. This side already has their memory, and does not keep it
 * twice.
 */
static void muxes__that_are_offered_again(void **state)
{
	static struct raw raws[2];
	const char *addr = end_address();
	struct end_holdings before;

	(void)state;
	end_listen(&b, addr);
	raw_init(&raws[0]);
	raw_offer_mux(&raws[0]);
	add_file(raws[0].fds[2]);
	raw_init(&raws[1]);
	raws[1].fds[raws[1].nfds++] = fcntl(raws[0].fds[2], F_DUPFD_CLOEXEC, 0);
	raws[1].hello.has_mux = 1;
	for (uint32_t i = 0; i < 2; i++) {
		before = end_count();
		raw_connect(&raws[i], addr);
		raw_send(&raws[i], &raws[i].hello, sizeof(raws[i].hello), raws[i].fds,
			 raws[i].nfds);
		accept_one();
		assert_true(raw_recv(&raws[i], NULL));
		assert_int_equal(raws[i].answer.has_mux, 1);
		/*
		 * The mappings are those of rings and of the key table, and the first time also
		 * those of the muxes. The descriptors are two sockets, and the first time also a
		 * pidfd.
		 */
		END_WAIT(&b, NULL, end_count().maps == before.maps + 3 - i);
	}
	raw_fini(&raws[0]);
	raw_fini(&raws[1]);
}

/* Checks a message that is refused, so that none of its descriptors is kept. */
static void refused__message_is_closed_by_the_reaper(void **state)
{
	const char *addr = end_address();
	struct raw raw;

	(void)state;
	end_listen(&b, addr);
	raw_init(&raw);
	raw_offer_mux(&raw);
	add_files(&raw);
	raw.hello.conn_id = KEY_ANY_CONN;
	raw_connect(&raw, addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	while (raw.nfds > 0)
		close(raw.fds[--raw.nfds]);
	assert_false(raw_recv(&raw, &b));
	END_WAIT(&b, NULL, nfreed >= 3 && b.dev->stats.protocol_errors == 1);
	raw_fini(&raw);
}

static void name_region(struct raw *raw, uint32_t id)
{
	const struct key_entry entry = {.seq = 2 * id,
					.key = KEY,
					.access = FABRIC_REMOTE_WRITE,
					.region = id,
					.raddr = 4096,
					.len = 4096};

	raw->hello.region.id = id;
	memcpy(&raw->keys[9], &entry, sizeof(entry));
}

/* Checks regions that replace each other. The last one is sent without a request. */
static void regions__that_are_replaced(void **state)
{
	const struct fabric_wr wr = {
		.op = FABRIC_WRITE, .flags = FABRIC_SIGNALED, .rkey = KEY, .raddr = 4096};
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	add_file(raw.region_fd);
	for (uint32_t i = 0; i < 4; i++) {
		name_region(&raw, RAW_REGION_ID + i * SHM_REGIONS_MAX);
		end_post(&b, wr, end_sge(&b, 0, 4096));
		raw_give_region(&raw, &b);
		is_engine = true;
		end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
		is_engine = false;
	}
	nfreed = 0;
	raw_send_region(&raw);
	END_WAIT(&b, NULL, nfreed > 0);
	raw_fini(&raw);
}

/*
 * Creates a file of 'len' bytes whose memory is not limited to these bytes. 'how' selects the way.
 * Returns false if there is no such way.
 */
static bool large_file(size_t len, unsigned how, int *fd)
{
	const int seals = how == 1 ? F_SEAL_SHRINK : F_SEAL_SHRINK | F_SEAL_GROW;

	*fd = memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, (off_t)(how == 0 ? len + 4096 : len)), 0);
	if (how == 2) /* allocates pages after the end of the file */
		assert_int_equal(fallocate(*fd, FALLOC_FL_KEEP_SIZE, 0, 32 << 20), 0);
	assert_int_equal(fcntl(*fd, F_ADD_SEALS, seals), 0);
	return how < 3;
}

static void hello__with_a_file_that_is_not_bounded(void **state)
{
	const size_t bytes[] = {2 * ring_footprint(RAW_RING_BYTES), sizeof(struct key_table_memory),
				sizeof(struct mux_memory)};
	const char *addr = end_address();
	uint32_t nrefused = 0;
	struct raw raw;
	int fd;

	(void)state;
	end_listen(&b, addr);
	for (uint32_t index = 0; index < 3; index++) {
		for (unsigned how = 0; how < 4; how++) {
			bool is_large = large_file(bytes[index], how, &fd);

			raw_init(&raw);
			raw_offer_mux(&raw);
			close(raw.fds[index]);
			raw.fds[index] = fd;
			raw_connect(&raw, addr);
			raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
			nrefused += is_large;
			if (is_large)
				assert_false(raw_recv(&raw, &b));
			else
				accept_one();
			END_WAIT(&b, NULL, b.dev->stats.protocol_errors == nrefused);
			raw_fini(&raw);
			if (is_large)
				continue;
			end_event(&b, NULL, FABRIC_CM_FAILED);
		}
	}
	assert_int_equal(nrefused, 9);
}

static void accept__with_a_file_that_is_not_bounded(void **state)
{
	struct shm_msg msg;
	struct raw raw;
	int fd;

	(void)state;
	for (unsigned how = 0; large_file(sizeof(struct key_table_memory), how, &fd); how++) {
		const char *addr = end_address();
		int listener = raw_listen(addr);

		raw_init(&raw);
		msg = raw.hello;
		msg.type = SHM_ACCEPT;
		b.qp = end_connect(&b, addr, &b);
		raw_welcome(&raw, listener, &b);
		raw_send(&raw, &msg, sizeof(msg), &fd, 1);
		assert_int_equal(end_event(&b, NULL, FABRIC_CM_FAILED).error, -EPROTO);
		END_WAIT(&b, NULL, b.dev->stats.protocol_errors == how + 1);
		b.ops->qp_destroy(b.qp);
		b.qp = NULL;
		raw_fini(&raw);
		close(fd);
		close(listener);
	}
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(muxes__of_which_none_are_taken),
		TEST(muxes__that_are_offered_again),
		TEST(refused__message_is_closed_by_the_reaper),
		TEST(regions__that_are_replaced),
		TEST(hello__with_a_file_that_is_not_bounded),
		TEST(accept__with_a_file_that_is_not_bounded),
	};

	main_thread = pthread_self();
	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
