/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_DEV_H
#define SHM_DEV_H

/*
 * The shm driver: RDMA semantics between processes of one host, or threads of one process, over
 * memory that both map. The contract is driver.h. This is its device, with its registrations, its
 * listeners and its users; shm_qp.h has the queue pairs, and shm_wire.h what two processes share.
 *
 *   dev.c             open and close
 *   options.c         what the user chooses
 *   memory.c          registration, windows; a peer's regions
 *   mapping.[ch]      mappings of memory that is shared with a peer
 *   sigbus_guard.[ch] what happens when such memory loses its pages
 *   unlocked.[ch]     that it is not locked where the program locks its own
 *   poll.c            completions: it goes through the turns of users
 *   turn.[ch]         how polls are divided among users: the share of each, and its debt
 *   listen.c          listeners
 *   greet.c           new connections of a listener
 *   users.[ch]        whom the device connects with
 *   account.[ch]      what one user's connections hold
 *   cm.c              connecting: what the engine's thread does
 *   cm_thread.c       the control thread, which waits for the sockets
 *   control.c         requests of other threads to the control thread
 *   sock.[ch]         a connection's socket: its life, its end, and its events
 *   count_end.c       why connections end, for the operator
 *   leave.c           leaves what peers have passed to the reaper, to be closed and unmapped
 *   life.[ch]         whether a peer's process lives
 *   reap.[ch]         the reaper: the threads that make system calls which may block
 *
 * Three kinds of threads know a device. The engine's thread owns everything on the data path and
 * never waits. The control thread reads from the sockets, checks what peers pass, and maps it. Both
 * make no call that a peer can block or draw out: what could is left to the reaper.
 *
 * dev->lock guards what the engine's thread and the control thread share: the lists of sockets and
 * events, the states of sockets, and the table of registrations. It is held for a few instructions
 * at a time and never across a system call, so the engine's thread never waits for one that the
 * control thread makes. The data path does not take it.
 *
 * EAL must be there when a device is opened: it knows the clock's rate and where threads of control
 * belong.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "driver.h"
#include "keys.h"
#include "life.h"
#include "log_rate.h"
#include "shm_options.h"
#include "shm_wire.h"
#include "sock.h"
#include "turn.h"
#include "users.h"

struct shm_mux_set;
struct shm_qp;
struct shm_srq;

#define LKEY_BASE	1u /* lkeys are places + 1, so never 0 */
#define SHM_NO_LKEY	0u
#define SHM_RDS_MAX	16u
#define SHM_CHUNK_BYTES 512u /* doc/performance.rst has the measurements */
#define SHM_ID_LISTS	1024u
#define SHM_PAUSE_MS	10 /* before what waits for descriptors is tried again */
/* Looks at its user's hot queue pairs in which a queue pair has found nothing: it is cold then. */
#define SHM_COLD_POLLS 4096u

/* The base of a registration that is not in use: no memory lies at this address. */
#define SHM_NO_BASE ((uint8_t *)UINTPTR_MAX)

struct shm_mr {
	bool in_use;
	uint32_t id; /* never 0, not used again */
	uint8_t *base;
	uint64_t len;
	uint32_t lkey;
	uint32_t access;
	struct key_ref key;	     /* when exposed */
	struct shm_exposed *exposed; /* to peers; NULL: never */
	int guard;
};

/* A registration that peers may map. The control thread sends the descriptor to them, and closes it
 * after the registration has ended. */
struct shm_exposed {
	int fd;
	bool is_writable;
	uint64_t fd_offset;
	STAILQ_ENTRY(shm_exposed) entry;
};

/* A queue pair that waits for its peer, and when it is tried again, in ticks. */
struct shm_stall {
	uint64_t retry_at;
	struct shm_qp *qp;
};

struct shm_stalls {
	struct shm_stall *at; /* of max_connections */
	uint32_t n;
	uint32_t next; /* to be looked at */
};

struct shm_dev {
	struct fabric_dev fabric;
	struct shm_turns turns; /* with the hot queue pairs and the muxes */
	struct shm_stalls stalls;
	uint32_t nqps;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t npolls; /* with muxes */
	uint32_t number; /* of the mux in which it accepts, or MUX_NONE */
	LIST_HEAD(, shm_mux_set) shared;
	bool own_domains;
	bool has_own_barrier;	 /* others can't make one for us: rdma.c */
	LIST_HEAD(, shm_qp) own; /* queue pairs with keys of their own */
	struct shm_srq *srq;
	uint32_t ring_option_bytes; /* 0: by need */
	struct shm_options options;
	struct shm_overflow overflow;	    /* when the device was opened */
	struct log_rate log_no_descriptors; /* lines on connections that end for want of them */
	struct log_rate log_untrusted;	    /* lines on listeners of others */
	uint64_t rnr_ticks; /* that a message may wait for a receive; UINT64_MAX: for ever */
	struct shm_mr mrs[SHM_REGIONS_MAX];
	uint32_t region_ids; /* ids given out, in each place */
	struct key_table keys;

	struct account_limits limits; /* of each user */
	struct shm_events taken;      /* events that were not given to the engine yet */
	struct shm_events draining;   /* which wait until the messages before them are delivered */
	uint64_t drain_polled;	      /* ticks, when they were looked at */
	uint64_t drain_ticks;	      /* time for them: it stands while the process is stopped */

	/* shared with the control thread */
	pthread_mutex_t lock;
	pthread_cond_t is_unlistened;
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	bool has_thread, has_reaper;
	bool stops;
	_Atomic uint32_t nevents;  /* in 'events', 'taken' and 'draining'; read without the lock */
	_Atomic bool has_counts;   /* one of these is not in the statistics yet: shm_count() */
	_Atomic uint32_t nerrors;  /* protocol errors */
	_Atomic uint32_t nrefused; /* connections refused for their user */
	_Atomic uint32_t ndisplaced; /* requests for connections that were not let wait */
	struct log_rate log_refused; /* lines on these */
	_Atomic uint32_t nmaps_refused;
	struct log_rate log_maps_refused;
	struct shm_events events;
	TAILQ_HEAD(, fabric_conn_req) socks;
	TAILQ_HEAD(, fabric_conn_req) tasks;
	STAILQ_HEAD(, shm_exposed) hidden; /* registrations' that are gone */
	LIST_HEAD(, fabric_conn_req) by_id[SHM_ID_LISTS];
	struct shm_lives lives;
	TAILQ_HEAD(, fabric_listener) listeners;
	/* the control thread is to close it, and then sets this to NULL */
	struct fabric_listener *ending;

	/* the control thread's */
	bool has_paused; /* sockets or listeners wait for descriptors, and are not watched meanwhile
			  */
	uint64_t resume_ns; /* when they are watched again */
	uint64_t visit;	    /* counts its rounds over all sockets */
	uint64_t next_sweep_ns;

	uint32_t max_connections;
	uint32_t nsocks;
};

/* Returns whether a local buffer lies within the registration that its key names. */
static inline bool shm_local_ok(const struct shm_dev *dev, struct fabric_sge sge)
{
	uint32_t index = sge.lkey - LKEY_BASE;
	uint64_t at;

	if (index >= SHM_REGIONS_MAX)
		return false;
	at = (uint64_t)((uintptr_t)sge.addr - (uintptr_t)dev->mrs[index].base);
	return at <= dev->mrs[index].len && sge.len <= dev->mrs[index].len - at;
}

static inline uint64_t shm_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void shm_lock(struct shm_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
}

static inline void shm_unlock(struct shm_dev *dev)
{
	pthread_mutex_unlock(&dev->lock);
}

/* Count an event on the control thread. The engine's thread puts it into the statistics
 * (shm_cm_poll). */
static inline void shm_count(struct shm_dev *dev, _Atomic uint32_t *counter)
{
	atomic_fetch_add(counter, 1);
	atomic_store(&dev->has_counts, true);
}

/*
 * Close a descriptor of the device, if it is open. If another thread forks meanwhile, the child
 * closes the descriptors that it finds in the device (shm_abandon). It must not find a number that
 * was closed, because that number may name another file.
 */
static inline void shm_fd_close(int *at)
{
	int fd = *at;

	*(volatile int *)at = -1;
	if (fd >= 0)
		close(fd);
}

/* memory.c */
int shm_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
		    uint64_t fd_offset, struct fabric_mr *mr);
void shm_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr);
int shm_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw);
void shm_mw_free(struct fabric_dev *dev, struct fabric_mw *mw);
void shm_peer_release(struct shm_peer *peer);
/* On the control thread: map what the peer has sent. Returns what mapping_peer() does. */
int shm_import_map(struct shm_sock *sock, const struct shm_msg *msg, int fd);
/* Find the registration at 'place' for a peer that asks for it, and describe it in *msg. Returns
 * NULL if there is none that peers may map. The lock is held. */
const struct shm_exposed *shm_exposed_find(const struct shm_dev *dev, uint32_t place,
					   struct shm_msg *msg);
void shm_exposed_free(struct shm_exposed *exposed);
/* On the control thread: end the registrations whose memory has lost its pages. Returns whether
 * there are any. */
bool shm_own_has_lost(struct shm_dev *dev);

/* domain.c; on the engine's thread */
int shm_own_domains(struct fabric_dev *dev);
/* The keys of a registration in all queue pairs: none where the device is one domain. 0, -ENOMEM or
 * -ENOSPC, logged. */
int shm_domain_add(struct shm_dev *dev, uint32_t place);
void shm_domain_remove(struct shm_dev *dev, uint32_t place);

/* rdma.c */
void shm_rdma_init(struct shm_dev *dev);

/* poll.c */
uint32_t shm_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* stall.c: try those that are due, until one still has to wait. */
void shm_stalls_try(struct shm_dev *dev);

/* listen.c */
struct sockaddr_un;
/* "/path" is a socket in the file system, any other name an abstract one. Returns its length, or 0.
 */
socklen_t shm_address(const char *addr, struct sockaddr_un *sun);
int shm_listen(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
	       struct fabric_listener **listener);
void shm_unlisten(struct fabric_listener *listener);

/* cm.c */
int shm_connect(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **qp);
int shm_accept(struct fabric_dev *dev, struct fabric_conn_req *req,
	       const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
	       struct fabric_qp **qp);
int shm_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
	       uint32_t private_len);
uint32_t shm_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);

#endif
