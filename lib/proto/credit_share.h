/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_SHARE_H
#define CREDIT_SHARE_H

/*
 * Credits of connections that share one receive queue (RFC 8166 section 3.3.1: a grant is never
 * more than the posted receives, and never 0). The share of a connection is the number of messages
 * that its peer may have outstanding. Messages that arrived and still hold their receive are
 * counted, too. If peers keep to their grants, the sum of all shares stays within the capacity of
 * the queue. Each member has a share of at least one.
 *
 * A grant may double with each reply, up to the part of the queue that is not assigned. Therefore
 * one busy connection alone gets half of the queue, and each of n busy connections gets 1/(n+1) of
 * it. There is always a part left for a connection that becomes busy. Connections of one peer are a
 * group. If several connections of a group are busy, they leave an eighth of the queue to others.
 *
 * A peer may use its grant until it receives a smaller one. With each reply that the peer receives,
 * it has one call fewer outstanding. Therefore a share shrinks by one with each reply, down to the
 * grant. If nothing arrived for long enough that the peer has all replies, the share shrinks to the
 * grant at once.
 */

#include <weir/common.h>

#define CREDIT_SHARE_START 16u /* the maximum of the first grant, which then doubles */

#define CREDIT_SHARE_NONE UINT32_MAX /* more than 'left' can ever be */

/* If the receives that connections of a group left in use are at most this part of the capacity,
 * another connection of the group may join, whatever others hold. */
#define CREDIT_BEHIND_PART 64u

struct credit_pool {
	uint32_t capacity; /* messages that the queue can hold */
	/* The sum of the shares and of the receives in use of connections that left. */
	uint32_t shared;
	uint32_t to_join; /* members that may still join; one message is reserved for each */
	uint32_t left;	  /* messages that are neither assigned nor reserved */
};

/* The state that the connections of one peer share. */
struct credit_group {
	uint32_t size;	 /* sum of 'behind' and of the shares, without the first message of each
			    connection */
	uint32_t behind; /* receives in use whose connections have left */
};

struct credit_share {
	uint32_t size;
	uint32_t latest; /* the latest grant */
	uint32_t next;	 /* the maximum of the next grant */
	uint32_t unsent; /* replies that have a grant and were not sent yet */
	/* A grant of 'steady' changes no state, as long as 'left' is at least 'steady'.
	 * CREDIT_SHARE_NONE means that there is no such grant. */
	uint32_t steady;
	struct credit_group *group; /* NULL if the connection has no group */
};

void credit_pool_init(struct credit_pool *pool, uint32_t capacity, uint32_t members_max);

/* Adds a connection with a share of one message to the pool and to its 'group', which may be NULL.
 * Returns false if there is no room for the connection. */
bool credit_share_join(struct credit_pool *pool, struct credit_share *share,
		       struct credit_group *group);
/* Removes a connection from the pool. Its 'in_use' receives stay in use, and count for its group
 * until credit_pool_return() returns each of them. */
void credit_share_leave(struct credit_pool *pool, struct credit_share *share, uint32_t in_use);
void credit_pool_return(struct credit_pool *pool, struct credit_group *group);

/* Returns whether another connection of the group may join. The receives in use of connections that
 * left the group must leave an eighth to others, as the shares of the group do. Otherwise each new
 * connection could leave one more receive in use. A small part of the pool is allowed in any case,
 * because others may have used up the rest. */
static inline bool credit_group_may_join(const struct credit_pool *pool,
					 const struct credit_group *group)
{
	return group->behind <= 7 * pool->left ||
	       group->behind <= pool->capacity / CREDIT_BEHIND_PART;
}

/* Parts of credit_share_grant() and credit_share_sent() that are not inline. */
uint32_t credit_share_change(struct credit_pool *pool, struct credit_share *share,
			     uint32_t requested, uint32_t limit);
void credit_share_shrink(struct credit_pool *pool, struct credit_share *share);

/* Returns the grant for a reply. The grant is at most 'requested', at most 'limit', and at least 1.
 * 'limit' must be the same in each call. */
static inline uint32_t credit_share_grant(struct credit_pool *pool, struct credit_share *share,
					  uint32_t requested, uint32_t limit)
{
	if (requested != share->steady || requested > pool->left)
		return credit_share_change(pool, share, requested, limit);
	share->unsent++;
	return requested;
}

/* Returns whether a grant of 'requested' changes no state if the reply is sent at once. In this
 * case credit_share_grant() and credit_share_sent() together would have no effect. */
static inline bool credit_share_is_unchanged(const struct credit_pool *pool,
					     const struct credit_share *share, uint32_t requested)
{
	return requested == share->steady && requested <= pool->left &&
	       (share->unsent > 0 || requested >= share->size);
}

/* Counts a reply as sent. The receive of its call must have been returned. */
static inline void credit_share_sent(struct credit_pool *pool, struct credit_share *share,
				     uint32_t granted)
{
	/* While another reply waits, it is not known which of the grants the peer has. */
	if (--share->unsent == 0 && granted < share->size)
		credit_share_shrink(pool, share);
}

/* These functions mark a reply that credit_share_sent() counted, but that could not be sent.
 * credit_share_waits() is called when the reply starts to wait, and credit_share_goes() when it is
 * sent. Other replies may be sent before the reply that waits. When the peer receives the reply
 * that waited, it uses the grant of that reply instead of theirs. credit_share_sent() has already
 * shrunk the share for the call. */
static inline void credit_share_waits(struct credit_share *share)
{
	share->unsent++;
}

static inline void credit_share_goes(struct credit_share *share)
{
	share->unsent--;
}

/* Handles an idle connection: no message arrived for long enough that the peer has received all
 * replies, and no receive is in use. */
void credit_share_idle(struct credit_pool *pool, struct credit_share *share);

/* Sets the share of the calling side, which knows how many messages are outstanding. The share
 * becomes 'wanted', or the largest available part of it, and at least 'in_flight'. Returns the
 * share. */
uint32_t credit_share_resize(struct credit_pool *pool, struct credit_share *share, uint32_t wanted,
			     uint32_t in_flight);

/* These functions change the share of the calling side. credit_share_extend() adds 'count' messages
 * beyond those of the other calls for one call, and returns false if there is no room.
 * credit_share_reduce() reverses this. */
bool credit_share_extend(struct credit_pool *pool, struct credit_share *share, uint32_t count);
void credit_share_reduce(struct credit_pool *pool, struct credit_share *share, uint32_t count);

#endif
