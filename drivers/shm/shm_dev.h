/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_DEV_H
#define SHM_DEV_H

/*
 * The shm driver has RDMA semantics between processes of one host, or threads of one process. It
 * works over memory that both sides map. driver.h is the contract. This file describes the device:
 * its registrations, its listeners and its users. shm_qp.h describes the queue pairs, and
 * shm_wire.h describes what two processes share.
 *
 *   dev.c             opens and closes a device
 *   options.c         the options of the user
 *   memory.c          registrations, memory windows, and a peer's regions
 *   mapping.[ch]      mappings of memory that is shared with a peer
 *   sigbus_guard.[ch] handles the loss of pages of such memory
 *   unlocked.[ch]     maps such memory unlocked, even if the program locks its own memory
 *   poll.c            completions; gives the turn of each user its share of a poll
 *   turn.[ch]         the rules for that, and the share and the debt of each user
 *   listen.c          listeners
 *   greet.c           new connections of a listener
 *   users.[ch]        the users with which the device connects
 *   account.[ch]      counts what the connections of one user hold
 *   cm.c              connecting: the part of the engine's thread
 *   cm_thread.c       the control thread, which waits for the sockets
 *   control.c         requests of other threads to the control thread
 *   sock.[ch]         the object of a connection, which has its socket, its rings and its mappings
 *                     of the peer's memory: its events, and its end, when it has the reaper unmap
 *                     and close them
 *   count_end.c       counts and logs why connections end, for the operator
 *   discard.c         gives the reaper single descriptors and mappings that a peer has passed and
 *                     that no connection uses
 *   life.[ch]         watches whether a peer's process lives
 *   reap.[ch]         the reaper: the threads that make system calls which may block
 *
 * Three kinds of threads use a device. The engine's thread owns the whole data path and never
 * waits. The control thread reads from the sockets, checks what peers pass, and maps it. Neither of
 * these two threads makes a call that a peer can block or prolong. The reaper makes such calls.
 *
 * dev->lock guards what the engine's thread and the control thread share: the lists of sockets and
 * events, the states of sockets, and the table of registrations. A thread holds the lock for a few
 * instructions only and never during a system call. So the engine's thread never waits for a system
 * call of the control thread. The data path does not take the lock.
 *
 * EAL must be initialized before a device is opened: EAL knows the rate of the clock and the CPUs
 * for control threads.
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

#define LKEY_BASE	1u /* an lkey is an index + 1, so that it is never 0 */
#define SHM_NO_LKEY	0u
#define SHM_RDS_MAX	16u
#define SHM_CHUNK_BYTES 512u /* doc/performance-log.rst describes the measurements */
#define SHM_ID_LISTS	1024u
#define SHM_PAUSE_MS	10 /* pause before the next attempt to get descriptors */
/* A hot queue pair becomes cold when its user's hot queue pairs were looked at this number of times
 * without finding a message in it. */
#define SHM_COLD_POLLS 4096u

/* The base of a registration that is not in use. No memory has this address. */
#define SHM_NO_BASE ((uint8_t *)UINTPTR_MAX)

struct shm_mr {
	bool in_use;
	uint32_t id; /* never 0, and not reused */
	uint8_t *base;
	uint64_t len;
	uint32_t lkey;
	uint32_t access;
	struct key_ref key;	     /* valid if the region is exposed */
	struct shm_exposed *exposed; /* NULL: not exposed to peers */
	int guard;
};

/* A registration that peers may map. The control thread sends the descriptor to peers, and closes
 * it after the registration has ended. */
struct shm_exposed {
	int fd;
	bool is_writable;
	uint64_t fd_offset;
	STAILQ_ENTRY(shm_exposed) entry;
};

/* A queue pair that waits for its peer, and the time of the next attempt, in ticks. */
struct shm_stall {
	uint64_t retry_at;
	struct shm_qp *qp;
};

struct shm_stalls {
	struct shm_stall *at; /* an array of max_connections elements */
	uint32_t n;
	uint32_t next; /* index of the next element to look at */
};

struct shm_dev {
	struct fabric_dev fabric;
	struct shm_turns turns; /* lists the hot queue pairs and the muxes */
	struct shm_stalls stalls;
	uint32_t nqps;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t npolls; /* polls of a device with muxes */
	uint32_t number; /* of the mux in which the device accepts, or MUX_NONE */
	LIST_HEAD(, shm_mux_set) shared;
	bool own_domains;
	/* Peers cannot make a memory barrier for this process: rdma.c. */
	bool has_own_barrier;
	LIST_HEAD(, shm_qp) own; /* queue pairs that have their own keys */
	struct shm_srq *srq;
	uint32_t ring_option_bytes; /* 0: chosen by need */
	struct shm_options options;
	struct shm_overflow overflow; /* as read when the device was opened */
	/* log lines about connections that end because no descriptors are available */
	struct log_rate log_no_descriptors;
	struct log_rate log_untrusted; /* log lines about untrusted listeners */
	/* longest wait of a message for a receive; UINT64_MAX: no limit */
	uint64_t rnr_ticks;
	struct shm_mr mrs[SHM_REGIONS_MAX];
	uint32_t region_ids; /* registrations that were made; a part of each ID */
	struct key_table keys;

	struct account_limits limits; /* limits of each user */
	struct shm_events taken;      /* events that the engine has not taken yet */
	struct shm_events draining;   /* events that wait until earlier messages are delivered */
	uint64_t drain_polled;	      /* latest advance of 'drain_ticks', in ticks */
	uint64_t drain_ticks; /* clock for draining: it stands while the process is stopped */

	/* Shared with the control thread: */
	pthread_mutex_t lock;
	pthread_cond_t is_unlistened;
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	bool has_thread, has_reaper;
	bool stops;
	_Atomic uint32_t nevents;  /* in 'events', 'taken' and 'draining'; read without the lock */
	_Atomic bool has_counts;   /* a counter below is not in the statistics yet: shm_count() */
	_Atomic uint32_t nerrors;  /* protocol errors */
	_Atomic uint32_t nrefused; /* connections refused because of their user */
	_Atomic uint32_t ndisplaced; /* connection requests that were displaced from the backlog */
	struct log_rate log_refused; /* log lines about refused connections */
	_Atomic uint32_t nmaps_refused;
	struct log_rate log_maps_refused;
	struct shm_events events;
	TAILQ_HEAD(, fabric_conn_req) socks;
	TAILQ_HEAD(, fabric_conn_req) tasks;
	STAILQ_HEAD(, shm_exposed) hidden; /* of registrations that have ended */
	LIST_HEAD(, fabric_conn_req) by_id[SHM_ID_LISTS];
	struct shm_lives lives;
	TAILQ_HEAD(, fabric_listener) listeners;
	/* The control thread closes this listener and then sets this pointer to NULL. */
	struct fabric_listener *ending;

	/* Owned by the control thread: */
	/* Sockets or listeners wait for descriptors, and are not watched during the wait. */
	bool has_paused;
	uint64_t resume_ns; /* end of that wait */
	uint64_t visit;	    /* number of the latest round over all sockets */
	uint64_t next_sweep_ns;

	uint32_t max_connections;
	uint32_t nsocks;
};

/* Returns whether a local buffer lies within the registration that its lkey names. */
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

/* Counts an event on the control thread. The engine's thread adds it to the statistics
 * (shm_cm_poll). */
static inline void shm_count(struct shm_dev *dev, _Atomic uint32_t *counter)
{
	atomic_fetch_add(counter, 1);
	atomic_store(&dev->has_counts, true);
}

/* Closes a descriptor of the device if the descriptor is open. If another thread forks meanwhile,
 * the child closes the descriptors that it finds in the device (shm_abandon). The child must not
 * find a number that was closed, because that number may name another file. */
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
/* Maps a region that the peer has sent. Returns the same values as mapping_peer(). Called on the
 * control thread. */
int shm_import_map(struct shm_sock *sock, const struct shm_msg *msg, int fd);
/* Finds the registration 'index' for a peer that asks for it, and describes the
 * registration in *msg. Returns NULL if no such registration may be mapped by peers. The caller
 * holds the lock. */
const struct shm_exposed *shm_exposed_find(const struct shm_dev *dev, uint32_t index,
					   struct shm_msg *msg);
void shm_exposed_free(struct shm_exposed *exposed);
/* Ends the registrations whose memory has lost its pages. Returns whether there are any. Called on
 * the control thread. */
bool shm_own_has_lost(struct shm_dev *dev);

/* domain.c: these functions are called on the engine's thread */
int shm_own_domains(struct fabric_dev *dev);
/* Adds the keys of a registration to all queue pairs. If the device is one domain, it adds nothing.
 * Returns 0, or logs and returns -ENOMEM or -ENOSPC. */
int shm_domain_add(struct shm_dev *dev, uint32_t index);
void shm_domain_remove(struct shm_dev *dev, uint32_t index);

/* rdma.c */
void shm_rdma_init(struct shm_dev *dev);

/* poll.c */
uint32_t shm_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* stall.c: tries the queue pairs that are due, until one of them still has to wait. */
void shm_stalls_try(struct shm_dev *dev);

/* listen.c */
struct sockaddr_un;
/* Fills in the address of a socket. "/path" is a socket in the file system. Any other name is an
 * abstract socket. Returns the length of the address, or 0 on failure. */
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
