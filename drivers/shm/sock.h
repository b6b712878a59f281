/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOCK_H
#define SOCK_H

/* Connections from the view of the control thread: sockets, the messages on them, the events that
 * are made of these messages, and listeners. */

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

/* A region of the peer that is mapped here. */
struct shm_import {
	uint32_t id; /* ID of the peer's region; 0: none */
	bool is_writable;
	uint8_t *base;
	uint64_t len;
	struct shm_mapping mapping;
};

/* Imports by region index, up to the highest index that was requested so far: of most peers, few
 * regions are requested. The engine's thread owns them. */
struct shm_imports {
	struct shm_import *at;
	uint32_t n;
};

/* Returns the import of region 'id', or NULL if it has not arrived or was replaced by another one.
 */
static inline const struct shm_import *shm_import_find(const struct shm_imports *imports,
						       uint32_t id)
{
	uint32_t index = id % SHM_REGIONS_MAX;

	return index < imports->n && imports->at[index].id == id ? &imports->at[index] : NULL;
}

/* A peer after its introduction was checked and its key table was mapped. */
struct shm_peer {
	struct shm_mapping keys_mapping;
	struct key_table_view keys;
	struct shm_imports imports;
	uint32_t conn_id;
	uint32_t max_msg_bytes;
};

enum shm_sock_state {
	SOCK_GREETING,	 /* accepted; waits for HELLO */
	SOCK_REQUEST,	 /* a FABRIC_CM_REQUEST was made, which waits for accept or reject */
	SOCK_CALLING,	 /* connected; waits for WELCOME */
	SOCK_CONNECTING, /* HELLO was sent */
	SOCK_ACCEPTED,	 /* ACCEPT was sent; waits for READY */
	SOCK_OPEN,
	SOCK_DEAD, /* end of file, an error, or an invalid message; the event was made */
};

/* The socket has the other members of a fabric_cm_event, which are read when the engine takes the
 * event. A connection has room for two events during its whole life. */
struct shm_event {
	enum fabric_cm_kind kind;
	int error;
	struct shm_events *list;      /* the list of the device that has this event; NULL: none */
	struct fabric_conn_req *sock; /* the connection that the event is about */
	TAILQ_ENTRY(shm_event) entry;
};
TAILQ_HEAD(shm_events, shm_event);

/* Work that the engine's thread leaves to the control thread. */
enum shm_task {
	TASK_WANT = 1, /* ask the peer for the region 'wanted' */
	TASK_DEAD = 2, /* the peer's process has ended: read its last messages, then end */
	TASK_FREE = 4, /* the socket is not needed any more */
};

/*
 * A socket, and what one connection has through it. dev->lock guards all members without another
 * remark.
 *
 * Only the control thread closes or frees the socket. The engine's thread requests this by
 * TASK_FREE. Until then the descriptor stays open, so that neither thread can use a number that
 * names another file. From REQUEST to accept the socket is not watched. Meanwhile only the engine
 * uses it, and it can move to another device.
 */
struct fabric_conn_req {
	struct reap_job job; /* must be the first member: its function frees the structure */
	struct shm_dev *dev;
	uint64_t id;	      /* identifies the socket to epoll and to guards; never changes */
	int fd;		      /* never changes */
	struct weir_peer who; /* the credentials of a socket do not change */
	struct shm_account *account;
	/* Watches the peer's process. NULL: only the socket reports the end of the process. */
	struct shm_life *life;
	enum shm_sock_state state;
	bool has_left;	   /* the peer has sent GOODBYE */
	struct shm_qp *qp; /* NULL before the queue pair is created and after it is destroyed */
	struct fabric_listener *listener;
	/* Deadline of the next expected message, CLOCK_MONOTONIC. UINT64_MAX: none is expected. */
	uint64_t deadline_ns;
	bool is_known;	      /* in dev->by_id */
	bool is_crowded;      /* few descriptors were free when it was accepted */
	uint32_t tasks;	      /* flags of enum shm_task; if not 0, the socket is in dev->tasks */
	uint64_t visit;	      /* latest round of the control thread that visited this socket */
	uint64_t mux_set_tag; /* tag of the muxes that it uses, for guards; 0: none */

	/* Owned by the control thread: */
	bool is_watched, is_waiting_to_send;
	bool is_paused;	  /* its next message waits until descriptors can be received */
	uint32_t npauses; /* number of pauses of that message */
	uint32_t asked;	  /* the latest region that the peer was asked for */
	uint32_t nasked;  /* number of regions that the peer was asked for and has not sent */
	/* Bits by index of regions that the peer has asked for and that are still to be sent. */
	uint64_t due;
	int foreign[SHM_FDS_MAX + 1]; /* descriptors that are not memfds, for the reaper */
	uint32_t nforeign;

	/* Written by one thread before the other thread gets to know the socket: */
	struct shm_peer peer;
	struct shm_mapping rings;
	uint32_t ring_bytes;
	struct shm_msg *hello; /* of a connector, until it is sent together with rings_fd */
	int rings_fd;
	int mux_fd; /* of a connector: offered by its HELLO, until it is sent; -1 */
	/* An acceptor stores the muxes here that a HELLO offers, until it accepts the connection.
	 * NULL: the HELLO offered none. */
	struct shm_mux_set *offered;
	bool has_mux;	      /* of a connector: muxes were offered; after ACCEPT: accepted */
	struct mux_slot slot; /* valid after ACCEPT */

	/* A region that is passed from the peer to the engine's thread: */
	_Atomic uint32_t wanted; /* ID of the region; 0: none */
	/* true: the engine's thread may take 'fresh'. false: the control thread may fill it. */
	_Atomic bool has_fresh;
	struct shm_import fresh;

	struct shm_event events[2]; /* at most two can be queued: ESTABLISHED and DISCONNECTED */
	/* Private data of the peer's HELLO, ACCEPT or REJECT. The event that is made of this
	 * message, which is the first event, reports the data. */
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	TAILQ_ENTRY(fabric_conn_req) entry;
	TAILQ_ENTRY(fabric_conn_req) task;
	/* Entry in the listener's backlog: in GREETING, and in REQUEST until the engine's thread
	 * takes the event. */
	struct backlog_entry waiting;
	LIST_ENTRY(fabric_conn_req) same; /* entry in dev->by_id */
};

#define shm_sock fabric_conn_req

struct fabric_listener {
	struct shm_dev *dev;
	uint64_t id;
	int fd;
	bool is_listed; /* in dev->listeners */
	/* Owned by the control thread: it does not watch the listener until descriptors are
	 * available. */
	bool is_paused;
	/* The kernel refuses descriptors on accepted sockets until shm_pass_rights() allows them.
	 */
	bool refuses_rights;
	void *ctx;
	struct backlog backlog;	    /* connections unknown to the engine's thread, by 'waiting' */
	char addr[FABRIC_ADDR_MAX]; /* path of a file that this listener created; otherwise "" */
	dev_t file_dev;
	ino_t file_ino;
	TAILQ_ENTRY(fabric_listener) entry;
};

/* Returns the user of a connection request, as an entry of a listener's backlog has it. */
static inline struct backlog_peer shm_backlog_peer(const struct shm_account *account)
{
	return (struct backlog_peer){{account->uid}};
}

/* control.c */
uint64_t shm_next_id(void);
/* Watches a descriptor for input. epoll then reports 'id'. Returns 0 or -errno. */
int shm_watch(struct shm_dev *dev, int fd, uint64_t id);
void shm_cm_wake(struct shm_dev *dev); /* wakes the control thread, for a task or a deadline */
/* Adds a task for the control thread, which must be woken after that. The caller holds the lock. */
void shm_sock_task(struct shm_sock *sock, enum shm_task task);
/* shm_begin_pause() and shm_pause_listener() are called on the control thread. epoll would report
 * at once again a connection or message that cannot be accepted or received. Therefore the control
 * thread does not watch it for SHM_PAUSE_MS. */
void shm_begin_pause(struct shm_dev *dev);
void shm_pause_listener(struct fabric_listener *listener);

/* discard.c */
/* Gives the reaper what a peer has passed: when the last reference to a file ends, the kernel frees
 * all of its pages, which may be many. Only if no memory is available, the calling thread closes or
 * unmaps it. At most SHM_FDS_MAX + 1 descriptors can be passed. */
void shm_discard_fds(const int *fds, uint32_t nfds, struct shm_account *account, bool is_suspect);
void shm_discard_mapping(struct shm_mapping *mapping, struct shm_account *account);
/* Gives the reaper a connected socket whose queue may hold descriptors. */
void shm_close_later(int fd, struct shm_account *account);

/* count_end.c: counts and logs why a connection ends, if that is of interest */
void shm_count_end(struct shm_sock *sock, int error);

/* sock.c */
/* Returns the account of a user. Returns NULL if no memory is available. */
struct shm_account *shm_account_of(const struct weir_peer *who);
/* Makes the kernel refuse or accept descriptors that a peer passes through this socket and through
 * the sockets that are accepted from it. Returns whether the kernel can refuse them: Linux 6.16 or
 * newer. */
bool shm_pass_rights(int fd, bool may_pass);
/* Creates a socket that is in no list yet. If it succeeds, it takes over the descriptor and the
 * reference to 'account'. Returns NULL if no memory is available. */
struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, struct shm_account *account);
/* Frees a socket that is in no list. The reaper gets what it has. May be called on any thread. */
void shm_sock_drop(struct shm_sock *sock);
/* Makes the control thread watch a socket, after the socket was added to the lists of its device.
 * Returns 0 or -errno. */
int shm_sock_watch(struct shm_sock *sock);
/* Adds a socket to the lists of its device, in this state. Returns 0 or -ENOSPC. */
int shm_sock_add(struct shm_sock *sock, enum shm_sock_state state);
/* Enters a state, and sets the deadline of the message that is expected in this state, if there is
 * one. The caller holds the lock. */
void shm_sock_enter(struct shm_sock *sock, enum shm_sock_state state);
/* The engine's thread does not need the socket any more. The socket and its events are removed from
 * the lists, and the control thread frees the socket. */
void shm_sock_release(struct shm_sock *sock);
/* Works like shm_sock_release(), but the caller holds the lock and wakes the control thread after
 * it. */
void shm_sock_release_locked(struct shm_sock *sock);
/* Ends a connection from the peer's side: reports the end to the engine. The peer notices the end,
 * too. */
void shm_sock_ended(struct shm_sock *sock, int error);
/* The caller of shm_event_push() and shm_event_drop() holds the lock. */
void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error,
		    const struct shm_msg *msg);
void shm_event_drop(struct shm_event *event);
/* Describes an event to the engine in *taken, and drops the event. */
void shm_event_take(struct shm_event *event, struct fabric_cm_event *taken);

/* cm_message.c: called on the control thread, except shm_sock_send() */
int shm_sock_send(const struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		  uint32_t nfds);
/*
 * Reads a few messages. Returns one of these values:
 * - 0: the messages were handled.
 * - -EAGAIN: there is no further message.
 * - SHM_HANDED_OVER: the engine owns the socket from here on.
 * - Any other value: the connection has ended.
 */
#define SHM_HANDED_OVER 1
int shm_sock_read(struct shm_sock *sock);
/* Sends what is due, at once or when the socket accepts more. */
void shm_sock_flush(struct shm_sock *sock);

/* cm_thread.c */
int shm_cm_start(struct shm_dev *dev);
void shm_cm_stop(struct shm_dev *dev);

/* greet.c: accepts the connections that wait at a listener's socket, a few at a time */
void shm_greet(struct fabric_listener *listener);
/* Refuses all connections that wait, because the listener ends. */
void shm_refuse_all(struct fabric_listener *listener);

#endif
