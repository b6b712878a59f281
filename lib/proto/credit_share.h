/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_SHARE_H
#define CREDIT_SHARE_H

/*
 * Credits of connections that share one receive queue. RFC 8166 section 3.3.1 requires that a grant
 * is never more than the posted receives, and never 0. The share of a connection is the number of
 * messages that its peer is allowed to have outstanding. Messages that have arrived and whose
 * receives are still in use are counted, too. If peers keep to their grants, the sum of all shares
 * is at most the capacity of the queue. Each connection has a share of at least one message.
 *
 * A grant can double with each reply, up to the number of messages that are not assigned to any
 * connection. Therefore one busy connection alone gets half of the queue, and each of n busy
 * connections gets 1/(n+1) of the queue. A part is always left for a connection that becomes busy.
 * Connections of one peer are a group. If several connections of a group are busy, they leave an
 * eighth of the queue to others.
 *
 * A peer is allowed to use its grant until it receives a smaller grant. With each reply that the
 * peer receives, it has one call fewer outstanding. Therefore a share shrinks by one with each
 * reply, down to the grant. If no message has arrived for so long that the peer must have received
 * all replies, the share shrinks to the grant at once.
 */

#include <weir/common.h>

/* the maximum of a connection's first grant; the maximum then doubles */
#define CREDIT_SHARE_START 16u

#define CREDIT_SHARE_NONE UINT32_MAX /* value of 'steady' if there is none */

/* If connections that have left a group have at most 1/CREDIT_BEHIND_PART of the capacity in use,
 * another connection of the group can join, however much the other groups use. */
#define CREDIT_BEHIND_PART 64u

/* A receive queue that connections share. */
struct credit_pool {
	uint32_t capacity; /* number of receives of the queue */
	/* The sum of all shares, and of the receives in use of connections that have left. */
	uint32_t shared;
	/* connections that can still join; one message is reserved for each of them */
	uint32_t to_join;
	uint32_t left; /* messages that are neither assigned nor reserved */
};

/* The state that the connections of one peer share. */
struct credit_group {
	/* sum of the group's shares, without the first message of each connection, and of 'behind'
	 */
	uint32_t size;
	uint32_t behind; /* receives in use of connections that have left the group */
};

/* The share of one connection. */
struct credit_share {
	uint32_t size;	 /* the share, in messages */
	uint32_t latest; /* the latest grant */
	uint32_t next;	 /* the maximum of the next grant */
	uint32_t unsent; /* number of replies that have a grant and were not sent yet */
	/* If a call requests 'steady' credits, and the pool's 'left' is at least 'steady', the
	 * grant is 'steady' and needs no other change. CREDIT_SHARE_NONE: there is no such value.
	 */
	uint32_t steady;
	struct credit_group *group; /* NULL if the connection has no group */
};

void credit_pool_init(struct credit_pool *pool, uint32_t capacity, uint32_t members_max);

/* Adds a connection with a share of one message to the pool and to its 'group', which can be NULL.
 * Returns false if the pool has no message left for the connection. */
bool credit_share_join(struct credit_pool *pool, struct credit_share *share,
		       struct credit_group *group);
/* Removes a connection from the pool. 'in_use' receives of the connection are still in use. They
 * count for its group until the caller reports by credit_pool_return() that one of them was posted
 * again. */
void credit_share_leave(struct credit_pool *pool, struct credit_share *share, uint32_t in_use);
void credit_pool_return(struct credit_pool *pool, struct credit_group *group);

/* Returns whether another connection of the group is allowed to join. The receives in use of
 * connections that have left the group must leave an eighth of the queue to others, as the shares
 * of a group must. Without this limit, each new connection could leave one more receive in use. A
 * small part of the pool is allowed in any case, because other groups might use the rest. */
static inline bool credit_group_may_join(const struct credit_pool *pool,
					 const struct credit_group *group)
{
	return group->behind <= 7 * pool->left ||
	       group->behind <= pool->capacity / CREDIT_BEHIND_PART;
}

/* These are the parts of credit_share_grant() and credit_share_sent() that are not inline. */
uint32_t credit_share_change(struct credit_pool *pool, struct credit_share *share,
			     uint32_t requested, uint32_t limit);
void credit_share_shrink(struct credit_pool *pool, struct credit_share *share);

/* Returns the grant for a reply to a call that requests 'requested' credits, and updates the share.
 * The grant is at most 'requested', at most 'limit', and at least 1. 'limit' must be the same each
 * time. credit_share_sent() must follow when the reply is sent. */
static inline uint32_t credit_share_grant(struct credit_pool *pool, struct credit_share *share,
					  uint32_t requested, uint32_t limit)
{
	if (requested != share->steady || requested > pool->left)
		return credit_share_change(pool, share, requested, limit);
	share->unsent++;
	return requested;
}

/* Returns whether the grant is 'requested' and no state changes, if the reply is sent at once. In
 * this case credit_share_grant() and credit_share_sent() together would have no effect, and need
 * not be called. */
static inline bool credit_share_is_unchanged(const struct credit_pool *pool,
					     const struct credit_share *share, uint32_t requested)
{
	return requested == share->steady && requested <= pool->left &&
	       (share->unsent > 0 || requested >= share->size);
}

/* Counts a reply with the grant 'granted' as sent. The receive of the call must have been posted
 * again. */
static inline void credit_share_sent(struct credit_pool *pool, struct credit_share *share,
				     uint32_t granted)
{
	/* While another reply is not sent yet, it is not known which of the grants the peer uses.
	 */
	if (--share->unsent == 0 && granted < share->size)
		credit_share_shrink(pool, share);
}

/* These functions mark a reply that credit_share_sent() counted, but that could not be sent.
 * credit_share_waits() is called when the reply starts to wait, and credit_share_goes() when it is
 * sent. Other replies can be sent before the reply that waits. When the peer receives the reply
 * that waited, the peer uses the grant of this reply instead of the later grants.
 * credit_share_sent() has already shrunk the share for the call. */
static inline void credit_share_waits(struct credit_share *share)
{
	share->unsent++;
}

static inline void credit_share_goes(struct credit_share *share)
{
	share->unsent--;
}

/* Shrinks the share of an idle connection to its latest grant. The caller ensures that no message
 * has arrived for so long that the peer must have received all replies, and that no receive is in
 * use. */
void credit_share_idle(struct credit_pool *pool, struct credit_share *share);

/* Sets the share of replies that this side awaits as a requester on the same queue. The share
 * becomes 'wanted', or less if too few messages are available, and at least 'in_flight', the number
 * of messages that are outstanding. Returns the new share. */
uint32_t credit_share_resize(struct credit_pool *pool, struct credit_share *share, uint32_t wanted,
			     uint32_t in_flight);

/* These functions change the share of a requester for one call whose reply can have several
 * messages. credit_share_extend() adds 'count' messages, and returns false if the pool has too few
 * left. credit_share_reduce() removes these messages again. */
bool credit_share_extend(struct credit_pool *pool, struct credit_share *share, uint32_t count);
void credit_share_reduce(struct credit_pool *pool, struct credit_share *share, uint32_t count);

#endif
