/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOCK_H
#define SOCK_H

/*
 * Connections as the control thread knows them: sockets, the messages on them, the events made of
 * them, and listeners.
 */

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

/* A region of the peer's that is mapped here. */
struct shm_import {
	uint32_t id; /* of the peer's region; 0: none */
	bool is_writable;
	uint8_t *base;
	uint64_t len;
	struct shm_mapping mapping;
};

/* By their places, up to the highest that was ever asked for: most peers are asked for few. The
 * engine's. */
struct shm_imports {
	struct shm_import *at;
	uint32_t n;
};

/* NULL: it has not come, or another is in its place. */
static inline const struct shm_import *shm_import_find(const struct shm_imports *imports,
						       uint32_t id)
{
	uint32_t place = id % SHM_REGIONS_MAX;

	return place < imports->n && imports->at[place].id == id ? &imports->at[place] : NULL;
}

/* A peer as it introduced itself: checked, and mapped. */
struct shm_peer {
	struct shm_mapping keys_mapping;
	struct key_table_view keys;
	struct shm_imports imports;
	uint32_t conn_id;
	uint32_t max_msg_bytes;
};

enum shm_sock_state {
	SOCK_GREETING,	 /* accepted; HELLO is to come */
	SOCK_REQUEST,	 /* a FABRIC_CM_REQUEST was made of it, which waits for accept or reject */
	SOCK_CALLING,	 /* connected; WELCOME is to come */
	SOCK_CONNECTING, /* HELLO was sent */
	SOCK_ACCEPTED,	 /* ACCEPT was sent, READY is to come */
	SOCK_OPEN,
	SOCK_DEAD, /* EOF, an error, or nonsense; its event was made */
};

/* The rest of a fabric_cm_event comes from the socket when the engine takes it: a connection has
 * room for two of these as long as it lives. */
struct shm_event {
	enum fabric_cm_kind kind;
	int error;
	struct shm_events *list;      /* of the device's, in which it is queued; NULL: it is not */
	struct fabric_conn_req *sock; /* it is about */
	TAILQ_ENTRY(shm_event) entry;
};
TAILQ_HEAD(shm_events, shm_event);

/* What the engine's thread leaves to the control thread. */
enum shm_task {
	TASK_WANT = 1, /* ask the peer for the region 'wanted' */
	TASK_DEAD = 2, /* the peer's process has ended: take what it has sent, then end the
			  connection */
	TASK_FREE = 4, /* nobody needs the socket any more */
};

/* A socket, and what one connection has through it. dev->lock guards what does not say otherwise.
 *
 * The control thread is the only one that closes or frees it; the engine's thread asks for that
 * (TASK_FREE). Until then the descriptor stays open, so that neither can use a number that is
 * another file's by now. From REQUEST to accept the socket is not watched: it is the engine's
 * alone, and can move to another device. */
struct fabric_conn_req {
	struct reap_job job; /* first: it is freed by that */
	struct shm_dev *dev;
	uint64_t id;	      /* what epoll and guards know it by; never changes */
	int fd;		      /* never changes */
	struct weir_peer who; /* credentials, once and for all: those of the socket do not change */
	struct shm_account *account;
	struct shm_life *life; /* of the peer's process; NULL: the socket alone tells of its end */
	enum shm_sock_state state;
	bool has_left;	   /* the peer has said goodbye */
	struct shm_qp *qp; /* NULL until there is one, and again when it is destroyed */
	struct fabric_listener *listener;
	uint64_t deadline_ns; /* of the message that is due; CLOCK_MONOTONIC; UINT64_MAX: none is */
	bool is_known;	      /* it is in dev->by_id */
	bool is_crowded;      /* few descriptors were left when it was accepted */
	uint32_t tasks;	      /* enum shm_task; not 0: it is in dev->tasks */
	uint64_t visit;	      /* the control thread's latest round in which it was looked at */
	uint64_t mux_set_tag; /* of the muxes that it uses, for guards; 0: none */

	/* the control thread's */
	bool is_watched, is_waiting_to_send;
	bool is_paused;	  /* its next message waits until descriptors can be received */
	uint32_t npauses; /* of that message */
	uint32_t asked;	  /* the region that the peer was asked for last */
	uint32_t nasked;  /* how many it was asked for and has not sent yet */
	uint64_t due; /* regions, by place, that the peer has asked for and that are not sent yet */
	int foreign[SHM_FDS_MAX + 1]; /* descriptors that are no memfd, for the reaper */
	uint32_t nforeign;

	/* written by one thread before the other hears of it */
	struct shm_peer peer;
	struct shm_mapping rings;
	uint32_t ring_bytes;
	struct shm_msg *hello; /* a connector's, until it is sent; with rings_fd */
	int rings_fd;
	int mux_fd; /* a connector's, that its HELLO offers, until it is sent; -1 */
	struct shm_mux_set *offered; /* an acceptor's, what a HELLO has offered, until it is
					accepted; or NULL */
	bool has_mux;	      /* of a connector: offered; and once there was an ACCEPT: taken */
	struct mux_slot slot; /* then */

	/* A region on its way from the peer to the engine's thread. */
	_Atomic uint32_t wanted; /* which; 0: none */
	_Atomic bool has_fresh;	 /* true: 'fresh' is the engine's to take, false: the control
				    thread's to fill */
	struct shm_import fresh;

	struct shm_event events[2]; /* as many can be queued: ESTABLISHED and DISCONNECTED */
	/* What the peer said with its HELLO, ACCEPT or REJECT: the event that is made of it, which
	 * is the first, reports it. */
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	TAILQ_ENTRY(fabric_conn_req) entry;
	TAILQ_ENTRY(fabric_conn_req) task;
	/*
	 * In the listener's backlog: in GREETING, and in REQUEST until the engine's thread takes
	 * the event.
	 */
	struct backlog_entry waiting;
	LIST_ENTRY(fabric_conn_req) same; /* in dev->by_id */
};

#define shm_sock fabric_conn_req

struct fabric_listener {
	struct shm_dev *dev;
	uint64_t id;
	int fd;
	bool is_listed; /* in dev->listeners */
	bool is_paused; /* the control thread's: it is not watched, until descriptors can be had
			   again */
	bool refuses_rights; /* sockets accepted from it have no descriptors in their queues until
				they are let pass */
	void *ctx;
	struct backlog backlog;	    /* connections that the engine's thread has not been told of, by
				       'waiting' */
	char addr[FABRIC_ADDR_MAX]; /* of a file that we made; else "" */
	dev_t file_dev;
	ino_t file_ino;
	TAILQ_ENTRY(fabric_listener) entry;
};

/* Whose request for a connection it is, in a listener's backlog. */
static inline struct backlog_peer shm_backlog_peer(const struct shm_account *account)
{
	return (struct backlog_peer){{account->uid}};
}

/* control.c */
uint64_t shm_next_id(void);
/* Read from a descriptor, which epoll then reports by 'id'. Returns 0 or -errno. */
int shm_watch(struct shm_dev *dev, int fd, uint64_t id);
void shm_cm_wake(struct shm_dev *dev); /* there is a task, or a deadline */
/* Leave something to the control thread, which has to be woken then. The lock is held. */
void shm_sock_task(struct shm_sock *sock, enum shm_task task);
/*
 * Both on the control thread. What cannot be taken would be reported again at once. So it is not
 * watched for SHM_PAUSE_MS.
 */
void shm_begin_pause(struct shm_dev *dev);
void shm_pause_listener(struct fabric_listener *listener);

/* leave.c */
/*
 * Leave to the reaper what a peer has passed: the last reference to a file frees all of its pages,
 * which may be many. Only where there is no memory, the calling thread closes or unmaps it. At most
 * SHM_FDS_MAX + 1 descriptors.
 */
void shm_leave_fds(const int *fds, uint32_t nfds, struct shm_account *account, bool is_suspect);
void shm_leave_mapping(struct shm_mapping *mapping, struct shm_account *account);
/* The same for a connected socket whose queue may hold descriptors. */
void shm_close_later(int fd, struct shm_account *account);

/* count_end.c: count and log what a connection ends for, if that is of interest */
void shm_count_end(struct shm_sock *sock, int error);

/* sock.c */
/* The account of that user. NULL: no memory. */
struct shm_account *shm_account_of(const struct weir_peer *who);
/* Let the kernel refuse descriptors that a peer passes through this socket, and those accepted from
 * it, or let it take them. Returns whether it can refuse them: Linux 6.16 or newer. */
bool shm_pass_rights(int fd, bool may_pass);
/* A socket, in no list yet. It takes over the descriptor and the reference to 'account' if it
 * succeeds. NULL: no memory. */
struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, struct shm_account *account);
/* Free a socket that is in no list, on any thread; what it has goes to the reaper. */
void shm_sock_drop(struct shm_sock *sock);
/* Have the control thread read from it, once it is in the lists of its device. Returns 0 or -errno.
 */
int shm_sock_watch(struct shm_sock *sock);
/* Into these lists, in this state. Returns 0, or -ENOSPC. */
int shm_sock_add(struct shm_sock *sock, enum shm_sock_state state);
/* It waits in this state now, for the message that is due, if one is: so long. The lock is held. */
void shm_sock_enter(struct shm_sock *sock, enum shm_sock_state state);
/* The engine's thread needs it no more: out of the lists, its events too, and freed by the control
 * thread. */
void shm_sock_release(struct shm_sock *sock);
/* The same with the lock held; the control thread has to be woken then. */
void shm_sock_release_locked(struct shm_sock *sock);
/* The connection ends from the peer's side: the engine hears of it. The peer sees the end, too. */
void shm_sock_ended(struct shm_sock *sock, int error);
/* Both with the lock held. */
void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error,
		    const struct shm_msg *msg);
void shm_event_drop(struct shm_event *event);
/* Describe an event to the engine in *taken, and drop it. */
void shm_event_take(struct shm_event *event, struct fabric_cm_event *taken);

/* cm_message.c; on the control thread, but for shm_sock_send() */
int shm_sock_send(const struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		  uint32_t nfds);
/* Read a few messages. Returns 0; -EAGAIN: there is none; SHM_HANDED_OVER: the socket is the
 * engine's now; else the connection is over. */
#define SHM_HANDED_OVER 1
int shm_sock_read(struct shm_sock *sock);
/* Send what is due, now or when the socket takes more. */
void shm_sock_flush(struct shm_sock *sock);

/* cm_thread.c */
int shm_cm_start(struct shm_dev *dev);
void shm_cm_stop(struct shm_dev *dev);

/* greet.c: take the connections that wait at a listener's socket, a few at a time */
void shm_greet(struct fabric_listener *listener);
/* Refuse them: the listener ends. */
void shm_refuse_all(struct fabric_listener *listener);

#endif
