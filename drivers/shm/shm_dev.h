/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_DEV_H
#define SHM_DEV_H

/*
 * The shm driver has RDMA semantics between processes of one host, or threads of one process. It
 * works over memory that both sides map. driver.h is the contract. This file describes the device:
 * its registrations, its listeners and its users. shm_qp.h describes the queue pairs, and
 * shm_wire.h describes what two processes share. All files of the driver need these three headers.
 * Each of the other headers belongs to one module, and only the files that use it include it.
 *
 *   dev.c             opens and closes a device
 *   options.c         the options of the user
 *   memory.c          registrations, memory windows, and a peer's regions
 *   mapping.[ch]      mappings of memory that is shared with a peer
 *   sigbus_guard.[ch] handles the loss of pages of shared memory
 *   unlocked.[ch]     maps shared memory unlocked, even if the program locks its own memory
 *   wake.c            sleeping, and waking the threads of peers
 *   poll.c            completions; gives the turn of each user its share of a poll
 *   turn.[ch]         the rules of turns, and the share and the debt of each user
 *   listen.c          listeners
 *   greet.c           new connections of a listener
 *   users.[ch]        the users with which the device connects
 *   account.[ch]      counts what the connections of one user hold
 *   cm.c              connecting: the part of the engine's thread
 *   cm_thread.c       the control thread, which waits for the sockets
 *   control.c         requests of other threads to the control thread
 *   sock.[ch]         the object that owns a connection's socket, rings and mappings of the peer's
 *                     memory: its events, and its end, when the reaper unmaps and closes them
 *   count_end.c       counts and logs why connections end, for the operator
 *   discard.c         gives the reaper single descriptors and mappings that a peer has passed and
 *                     that no connection uses
 *   life.[ch]         watches whether a peer's process lives
 *   reap.[ch]         the reaper: the threads that make system calls which can block
 *
 * Three kinds of threads use a device. The engine's thread owns the whole data path and never
 * waits. The control thread reads from the sockets, checks what peers pass, and maps it. Neither of
 * these two threads makes a call that a peer can block or prolong. The reaper makes such calls.
 *
 * dev->lock guards what the engine's thread and the control thread share: the lists of sockets and
 * events, the states of sockets, and the table of registrations. A thread holds the lock for a few
 * instructions only and never during a system call. Therefore the engine's thread never waits for a
 * system call of the control thread. The data path does not take the lock.
 *
 * EAL must be initialized before a device is opened, because EAL knows the rate of the clock and
 * the CPUs for control threads.
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

#define LKEY_BASE   1u /* an lkey is an index + 1, so that it is never 0 */
#define SHM_NO_LKEY 0u
#define SHM_RDS_MAX 16u
/* Above this length, a Read is faster than a Send (doc/performance-log.rst). */
#define SHM_CHUNK_BYTES 512u
#define SHM_ID_LISTS	1024u
#define SHM_PAUSE_MS	10 /* pause after an attempt to open or to receive descriptors has failed */
/* A hot queue pair becomes cold when the number of polls that found no message in it, multiplied by
 * the number of its user's hot queue pairs, exceeds this value. */
#define SHM_COLD_POLLS 4096u

/* The base of a registration that is not in use. No memory has this address. */
#define SHM_NO_BASE ((uint8_t *)UINTPTR_MAX)

struct shm_mr {
	bool in_use;
	uint32_t id; /* ID of the region; never 0, and not reused */
	uint8_t *base;
	uint64_t len;
	uint32_t lkey;
	uint32_t access;
	struct key_ref key;	     /* valid if the region is exposed */
	struct shm_exposed *exposed; /* NULL: not exposed to peers */
	int guard;		     /* of the memory (sigbus_guard.h), or GUARD_NONE */
};

/* A registration that peers are allowed to map. The control thread sends the descriptor 'fd' to
 * peers, and closes it after the registration has ended. */
struct shm_exposed {
	int fd;
	bool is_writable;
	uint64_t fd_offset;
	STAILQ_ENTRY(shm_exposed) entry;
};

/* A queue pair that waits for its peer, and the time of the next attempt to continue it, in ticks.
 */
struct shm_stall {
	uint64_t retry_at;
	struct shm_qp *qp;
};

/* All queue pairs of a device that wait for their peers (stall.c). */
struct shm_stalls {
	struct shm_stall *at; /* an array of max_connections elements */
	uint32_t n;
	uint32_t next; /* index of the element that was looked at last */
};

struct shm_dev {
	struct fabric_dev fabric;
	struct shm_turns turns; /* lists the hot queue pairs and the muxes */
	struct shm_stalls stalls;
	uint32_t nqps;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t npolls; /* polls of muxes; its parity rounds an odd half of a turn up or down */
	/* number of the mux by which the device accepts connections; MUX_NONE: not taken yet */
	uint32_t number;
	LIST_HEAD(, shm_mux_set) shared; /* mux sets in use */
	bool own_domains;
	/* Peers cannot make a memory barrier for this process by membarrier(2). Therefore this
	 * process makes its own barrier for each RDMA Write (rdma.c). */
	bool has_own_barrier;
	LIST_HEAD(, shm_qp) own; /* queue pairs with keys of their own domain (domain.c) */
	struct shm_srq *srq;
	uint32_t ring_option_bytes; /* bytes of a ring by the option ring_kib; 0: chosen by need */
	struct shm_options options;
	struct shm_overflow overflow; /* read when the device was opened */
	/* log lines about connections that end because no descriptors are available */
	struct log_rate log_no_descriptors;
	struct log_rate log_untrusted; /* log lines about untrusted listeners */
	/* longest wait of a message for a receive; UINT64_MAX: no limit */
	uint64_t rnr_ticks;
	struct shm_mr mrs[SHM_REGIONS_MAX];
	uint32_t region_ids; /* number of registrations so far; region IDs are made of it */
	struct key_table keys;

	struct account_limits limits; /* limits of each user */
	struct shm_events taken;      /* events that the engine has not taken yet */
	struct shm_events draining;   /* events that wait until earlier messages are delivered */
	uint64_t drain_polled;	      /* time of the latest advance of 'drain_ticks', in ticks */
	/* clock for draining, in ticks; it stands still while the process is stopped */
	uint64_t drain_ticks;

	/* Shared with the control thread: */
	pthread_mutex_t lock;
	pthread_cond_t is_unlistened;
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	bool has_thread, has_reaper;
	bool stops;
	/* number of events in 'events', 'taken' and 'draining'; read without the lock */
	_Atomic uint32_t nevents;
	_Atomic bool has_counts;   /* a counter below is not in the statistics yet: shm_count() */
	_Atomic uint32_t nerrors;  /* protocol errors */
	_Atomic uint32_t nrefused; /* connections refused because of their user */
	/* connection requests that were displaced, or for which there was no room */
	_Atomic uint32_t ndisplaced;
	struct log_rate log_refused; /* log lines about refused connections */
	_Atomic uint32_t
		nmaps_refused; /* connections that ended as a peer's memory was not mapped */
	struct log_rate log_maps_refused;
	struct shm_events events;
	TAILQ_HEAD(, fabric_conn_req) socks;
	TAILQ_HEAD(, fabric_conn_req) tasks;
	/* of ended registrations, for the control thread to close */
	STAILQ_HEAD(, shm_exposed) hidden;
	LIST_HEAD(, fabric_conn_req) by_id[SHM_ID_LISTS];
	struct shm_lives lives;
	TAILQ_HEAD(, fabric_listener) listeners;
	/* The control thread closes this listener and then sets this pointer to NULL. */
	struct fabric_listener *ending;

	/* Wakes the engine's thread. NULL: the engine's thread does not sleep. */
	_Atomic(struct fabric_waker *) waker;
	/* the control thread has something that the engine's thread has to see */
	_Atomic bool has_news;
	/* number of times that the device was armed, which is the value of 'asleep' */
	_Atomic uint32_t narms;

	/* Owned by the control thread: */
	/* Sockets or listeners wait for descriptors, and are not watched during the wait. */
	bool has_paused;
	uint64_t resume_ns; /* end of that wait, CLOCK_MONOTONIC */
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

/* Increments a counter of the device on the control thread. shm_cm_poll() adds the counter to the
 * statistics on the engine's thread. */
static inline void shm_count(struct shm_dev *dev, _Atomic uint32_t *counter)
{
	atomic_fetch_add(counter, 1);
	atomic_store(&dev->has_counts, true);
}

/* Sets *at, a descriptor of the device, to -1, and then closes the descriptor unless it was -1. If
 * another thread forks meanwhile, the child closes the descriptors that it finds in the device
 * (shm_abandon). The child must not find the number of a closed descriptor, because that number
 * could already belong to another file. */
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
/* Maps a region that the peer has sent by 'msg' with descriptor 'fd', and stores the import in
 * sock->fresh. Returns the same values as mapping_peer(). Called on the control thread. */
int shm_import_map(struct shm_sock *sock, const struct shm_msg *msg, int fd);
/* Finds the registration at 'index' for a peer that asks for it, and describes the
 * registration in *msg. Returns NULL if there is no registration at this index, or peers are not
 * allowed to map it. The caller holds the lock. */
const struct shm_exposed *shm_exposed_find(const struct shm_dev *dev, uint32_t index,
					   struct shm_msg *msg);
void shm_exposed_free(struct shm_exposed *exposed);
/* Ends the access of peers to each registration whose memory has lost pages (sigbus_guard.h).
 * Returns whether there was such a registration. Called on the control thread. */
bool shm_own_has_lost(struct shm_dev *dev);

/* domain.c: these functions are called on the engine's thread */
int shm_own_domains(struct fabric_dev *dev);
/* Creates a key of the registration at 'index' for each queue pair that has keys of its own
 * domain. If the device is one domain, there is none. Returns 0, or logs that the key table is full
 * and returns -ENOSPC. */
int shm_domain_add(struct shm_dev *dev, uint32_t index);
void shm_domain_remove(struct shm_dev *dev, uint32_t index);

/* rdma.c */
void shm_rdma_init(struct shm_dev *dev);
/* Makes a memory barrier for this thread and for all peers: either a peer's thread sees what this
 * thread wrote before, or this thread sees what the peer's thread wrote before. Returns false if
 * membarrier(2) is not available, so that there is no barrier for the peers. */
bool shm_barrier_for_both(void);

/* wake.c */
int shm_wake_attach(struct fabric_dev *dev, struct fabric_waker *waker);
int shm_arm(struct fabric_dev *dev, uint64_t *timeout_ns);
void shm_disarm(struct fabric_dev *dev);
/* Wakes the engine's thread if it sleeps and has_news is set. Called on the control thread. */
void shm_wake_engine(struct shm_dev *dev);

/* poll.c */
uint32_t shm_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* stall.c: tries a few of the waiting queue pairs, those that are due, until one of them makes no
 * progress. */
void shm_stalls_try(struct shm_dev *dev);

/* listen.c */
struct sockaddr_un;
/* Fills in *sun, the address of the socket that 'addr' names. "/path" is a socket in the file
 * system. Any other name is an abstract socket. Returns the length of the address, or 0 if 'addr'
 * is empty or too long. */
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
