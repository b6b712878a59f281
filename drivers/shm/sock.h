/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOCK_H
#define SOCK_H

/* Connections from the view of the control thread: sockets, the messages on them, the events by
 * which the engine learns of them, and listeners. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <weir/peer.h>

#include "account.h"
#include "backlog.h"
#include "fabric.h"
#include "keys.h"
#include "life.h"
#include "mapping.h"
#include "mux.h"
#include "reap.h"
#include "shm_wire.h"

struct shm_dev;
struct shm_qp;

/* A region of the peer that this side has mapped. */
struct shm_import {
	uint32_t id; /* ID of the peer's region; 0: no region */
	bool is_writable;
	uint8_t *base;
	uint64_t len;
	struct shm_mapping mapping;
};

/* The imports of one peer, by region index. The array 'at' ends at the highest index that was
 * needed so far, because few regions of most peers are needed. The engine's thread owns the
 * imports. */
struct shm_imports {
	struct shm_import *at;
	uint32_t n;
};

/* Returns the import of region 'id', or NULL if the engine's thread does not have it: the region
 * has not arrived, or another region with the same index has replaced it. */
static inline const struct shm_import *shm_import_find(const struct shm_imports *imports,
						       uint32_t id)
{
	uint32_t index = id % SHM_REGIONS_MAX;

	return index < imports->n && imports->at[index].id == id ? &imports->at[index] : NULL;
}

/* The peer of a connection, after its HELLO or ACCEPT was checked. */
struct shm_peer {
	struct shm_mapping keys_mapping;
	struct key_table_view keys;
	struct shm_imports imports;
	uint32_t conn_id;
	uint32_t max_msg_bytes;
};

enum shm_sock_state {
	SOCK_GREETING,	 /* accepted; waits for HELLO */
	SOCK_REQUEST,	 /* HELLO was read; the request waits for shm_accept() or shm_reject() */
	SOCK_CALLING,	 /* connected; waits for WELCOME */
	SOCK_CONNECTING, /* HELLO was sent; waits for ACCEPT or REJECT */
	SOCK_ACCEPTED,	 /* ACCEPT was sent; waits for READY */
	SOCK_OPEN,
	SOCK_DEAD, /* the connection has ended, and the engine needs no further event of it */
};

/* An event for the engine. The other values of struct fabric_cm_event are in the socket, and are
 * read when the engine takes the event. A socket has two of these structures. */
struct shm_event {
	enum fabric_cm_kind kind;
	int error;
	/* the list of the device in which this event is; NULL: not queued */
	struct shm_events *list;
	struct fabric_conn_req *sock; /* the connection that the event is about */
	TAILQ_ENTRY(shm_event) entry;
};
TAILQ_HEAD(shm_events, shm_event);

/* Work that the engine's thread leaves to the control thread. */
enum shm_task {
	TASK_WANT = 1, /* ask the peer for the region whose ID is in 'wanted' */
	/* the peer's process has ended: read its last messages, then end the connection */
	TASK_DEAD = 2,
	TASK_FREE = 4, /* close and free the socket */
};

/*
 * A socket, and what one connection has through it. dev->lock guards all members without another
 * remark.
 *
 * Only the control thread closes or frees the socket. The engine's thread requests this by
 * TASK_FREE. Until then the descriptor stays open, so that neither thread can use a number that
 * names another file. In the state REQUEST the socket is not watched. Meanwhile only the engine's
 * thread uses the socket, and can move it to another device.
 */
struct fabric_conn_req {
	struct reap_job job; /* must be the first member: its function frees the structure */
	struct shm_dev *dev;
	/* identifies the socket to epoll and to guards (sigbus_guard.h); never changes */
	uint64_t id;
	int fd;		      /* never changes */
	struct weir_peer who; /* the credentials of a socket do not change */
	struct shm_account *account;
	/* Watches the peer's process. NULL: only the socket reports the end of the process. */
	struct shm_life *life;
	enum shm_sock_state state;
	bool has_left; /* the peer has sent GOODBYE */
	/* NULL before the queue pair is created and after it has been destroyed */
	struct shm_qp *qp;
	struct fabric_listener *listener;
	/* Deadline of the next expected message, CLOCK_MONOTONIC. UINT64_MAX: no message is
	 * expected. */
	uint64_t deadline_ns;
	bool is_known;	 /* in dev->by_id */
	bool is_crowded; /* few descriptors were free when it was accepted */
	uint32_t tasks;	 /* flags of enum shm_task; if not 0, the socket is in dev->tasks */
	uint64_t visit;	 /* latest round of the control thread that visited this socket */
	/* tag of the mux set that it uses, which is reported when the set's memory loses its pages
	 * (sigbus_guard.h); 0: none */
	uint64_t mux_set_tag;

	/* Owned by the control thread: */
	bool is_watched, is_waiting_to_send;
	bool is_paused;	  /* its next message waits until its descriptors can be received */
	uint32_t npauses; /* number of pauses of this message so far */
	/* ID of the latest region that the peer was asked for; 0: it has arrived */
	uint32_t asked;
	/* number of regions that the peer was asked for and has not sent yet */
	uint32_t nasked;
	/* This mask has a bit for each region index. A bit is 1 if the peer has asked for the
	 * region, and this side has not sent the region yet. */
	uint64_t due;
	/* value of shm_dev.narms at the latest WAKE, and how many further ones are permitted */
	uint32_t narms_seen, wakes_left;
	bool wakes_engine;	      /* its descriptor is in the waker of the engine */
	int foreign[SHM_FDS_MAX + 1]; /* descriptors that are not memfds, for the reaper */
	uint32_t nforeign;

	/* Written by one thread before the other thread gets to know the socket: */
	struct shm_peer peer;
	struct shm_mapping rings;
	uint32_t ring_bytes;
	struct shm_msg *hello; /* of a connector, until HELLO is sent; otherwise NULL */
	int rings_fd;	       /* of a connector, until HELLO is sent with it; otherwise -1 */
	int mux_fd; /* of a connector that offers muxes, until HELLO is sent with it; otherwise -1
		     */
	/* An acceptor keeps here the muxes that HELLO offers, until it accepts the connection.
	 * NULL: HELLO offers none. */
	struct shm_mux_set *offered;
	/* of a connector: HELLO offers muxes; after ACCEPT: the peer uses them */
	bool has_mux;
	struct mux_slot slot; /* of a connector: valid after ACCEPT if has_mux */

	/* These members pass a region of the peer to the engine's thread: */
	_Atomic uint32_t wanted; /* ID of the region that the engine's thread needs; 0: none */
	/* true: only the engine's thread accesses 'fresh', in which a region has arrived. false:
	 * only the control thread accesses 'fresh'. */
	_Atomic bool has_fresh;
	struct shm_import fresh;

	/* at most two events can be queued: ESTABLISHED and DISCONNECTED */
	struct shm_event events[2];
	/* Private data of the peer's HELLO, ACCEPT or REJECT. The first event, which reports this
	 * message, takes the data. */
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	TAILQ_ENTRY(fabric_conn_req) entry;
	TAILQ_ENTRY(fabric_conn_req) task;
	/* Entry in the listener's backlog (backlog.h): in GREETING, and in REQUEST until the
	 * engine's thread takes the event. */
	struct backlog_entry waiting;
	LIST_ENTRY(fabric_conn_req) same; /* entry in dev->by_id */
};

#define shm_sock fabric_conn_req

struct fabric_listener {
	struct shm_dev *dev;
	uint64_t id;
	int fd;
	bool is_listed; /* in dev->listeners */
	/* The listener waits until descriptors are available, and is not watched meanwhile. Owned
	 * by the control thread. */
	bool is_paused;
	/* The kernel refuses descriptors on accepted sockets until shm_pass_rights() permits them.
	 */
	bool refuses_rights;
	void *ctx;
	struct backlog backlog;	    /* connections that the engine's thread has not taken yet */
	char addr[FABRIC_ADDR_MAX]; /* path of a file that this listener created; otherwise "" */
	dev_t file_dev;
	ino_t file_ino;
	TAILQ_ENTRY(fabric_listener) entry;
};

/* Returns the user of an account (account.h) in the form that names a user in a listener's backlog
 * (backlog.h). */
static inline struct backlog_peer shm_backlog_peer(const struct shm_account *account)
{
	return (struct backlog_peer){{account->uid}};
}

/* control.c */
uint64_t shm_next_id(void);
/* Makes the control thread watch a descriptor for input, for which epoll reports 'id'. Returns 0 or
 * -errno. */
int shm_watch(struct shm_dev *dev, int fd, uint64_t id);
void shm_cm_wake(struct shm_dev *dev); /* wakes the control thread */
/* Adds the descriptor of an open socket to the waker of the engine (waker.h), if there is one.
 * Called on the control thread. shm_unwatch_wakes() removes it. */
void shm_watch_wakes(struct shm_sock *sock);
void shm_unwatch_wakes(struct shm_sock *sock);
/* Adds a task of the socket for the control thread. The caller holds the lock, and calls
 * shm_cm_wake() after that unless it is the control thread. */
void shm_sock_task(struct shm_sock *sock, enum shm_task task);
/* shm_begin_pause() begins a pause of SHM_PAUSE_MS, unless there is a pause already. When the pause
 * ends, the control thread watches again all sockets and listeners that wait for descriptors.
 * shm_pause_listener() has a listener wait in this way. Without a pause, epoll would at once report
 * again a connection that cannot be accepted, or a message that cannot be received. Both functions
 * are called on the control thread. */
void shm_begin_pause(struct shm_dev *dev);
void shm_pause_listener(struct fabric_listener *listener);

/* discard.c */
/* Have the reaper close descriptors or unmap memory that a peer has passed, because the kernel
 * frees all pages of a file when the last reference to the file ends, which can take long.
 * 'is_suspect' says whether a close can block. If no memory is available, the calling thread closes
 * or unmaps them. 'nfds' is at most SHM_FDS_MAX + 1. */
void shm_discard_fds(const int *fds, uint32_t nfds, struct shm_account *account, bool is_suspect);
void shm_discard_mapping(struct shm_mapping *mapping, struct shm_account *account);
/* Shuts down a connected socket whose queue can hold descriptors, and has the reaper close it. */
void shm_close_later(int fd, struct shm_account *account);

/* count_end.c: counts and logs that a connection ends with 'error', if the cause is a violation of
 * the protocol, or a lack of descriptors or mappings. Does nothing for other values. */
void shm_count_end(struct shm_sock *sock, int error);

/* sock.c */
/* Returns the account of a peer's user, with a reference for the caller. Peers without credentials
 * share one account. Returns NULL if no memory is available. */
struct shm_account *shm_account_of(const struct weir_peer *who);
/* Makes the kernel refuse or accept descriptors that a peer passes through this socket and through
 * the sockets that are accepted from it. Returns whether the kernel is able to refuse descriptors,
 * which Linux is since 6.16. */
bool shm_pass_rights(int fd, bool may_pass);
/* Creates the object of a socket, which is in no list yet. On success, the object takes over the
 * descriptor and the reference to 'account'. Returns NULL if no memory is available. */
struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, struct shm_account *account);
/* Shuts down a socket that is in no list, and has the reaper close and free all that the socket
 * has. It can be called on any thread. */
void shm_sock_drop(struct shm_sock *sock);
/* Makes the control thread watch a socket, after the socket was added to the lists of its device.
 * Returns 0 or -errno. */
int shm_sock_watch(struct shm_sock *sock);
/* Adds a socket to the lists of its device, in the state 'state'. Returns 0, or -ENOSPC if the
 * device has its maximum number of sockets. */
int shm_sock_add(struct shm_sock *sock, enum shm_sock_state state);
/* Enters a state, and sets the deadline of the message that is expected in this state, if there is
 * one. The caller holds the lock. */
void shm_sock_enter(struct shm_sock *sock, enum shm_sock_state state);
/* Removes a socket that the engine's thread does not need any more, and its events, from all lists,
 * and has the control thread free the socket. */
void shm_sock_release(struct shm_sock *sock);
/* Works like shm_sock_release(), but the caller holds the lock, and wakes the control thread after
 * it has released the lock. */
void shm_sock_release_locked(struct shm_sock *sock);
/* Ends a connection because of its peer or of an error, and shuts the socket down, so that the peer
 * notices the end, too. The engine gets an event with 'error', if it knows the connection. A
 * connection that it does not know is freed. */
void shm_sock_ended(struct shm_sock *sock, int error);
/* shm_event_push() queues an event for the engine, with the private data of 'msg', which can be
 * NULL. shm_event_drop() removes an event from its list, if it is queued. The caller holds the
 * lock. */
void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error,
		    const struct shm_msg *msg);
void shm_event_drop(struct shm_event *event);
/* Describes a queued event in *taken, for the engine, and removes the event from its list. The
 * caller holds the lock. */
void shm_event_take(struct shm_event *event, struct fabric_cm_event *taken);

/* cm_message.c: called on the control thread, except shm_sock_send(), which sends one message with
 * 'nfds' descriptors and returns 0 or -errno */
int shm_sock_send(const struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		  uint32_t nfds);
/*
 * Reads a few messages. Returns one of these values:
 * - 0: the messages were handled, and there can be more.
 * - -EAGAIN: there is no further message, or it waits for descriptors.
 * - SHM_HANDED_OVER: the engine owns the socket from here on.
 * - Any other value, an error: the caller must end the connection.
 */
#define SHM_HANDED_OVER 1
int shm_sock_read(struct shm_sock *sock);
/* Sends the WANT and REGION messages that are due. If the socket accepts no more of them, epoll
 * reports when it does. */
void shm_sock_flush(struct shm_sock *sock);

/* cm_thread.c */
int shm_cm_start(struct shm_dev *dev);
void shm_cm_stop(struct shm_dev *dev);

/* greet.c */
/* Accepts a few of the connections that wait at a listener's socket. */
void shm_greet(struct fabric_listener *listener);
/* Refuses all connections that wait at the socket of a listener that ends. */
void shm_refuse_all(struct fabric_listener *listener);

#endif
