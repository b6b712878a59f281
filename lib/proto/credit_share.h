/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_SHARE_H
#define CREDIT_SHARE_H

/*
 * Credits where connections share one queue of receives (RFC 8166 section 3.3.1: a grant is never
 * more than what is posted, and never 0). A connection's share is how many messages its peer may
 * have under way, those counted that came and still hold their receive. The sum of all shares stays
 * within what the queue holds, whatever peers do within their grants, and each member has at least
 * one.
 *
 * A grant may double with each reply, up to what nobody has: so one that is busy alone gets half of
 * the queue, n that are busy get the n+1st part each, and there is always something left for one
 * that starts. Connections of one peer are a group: where several of it are busy, these leave an
 * eighth to others. What a peer was granted it may use until it learns of less. It has one call
 * fewer under way with each reply that it gets, so a share shrinks by one a reply, down to the
 * grant; when nothing was heard for long enough that the peer has all replies, at once.
 */

#include <weir/common.h>

#define CREDIT_SHARE_START 16u /* the first grant, at most; from there it doubles */

#define CREDIT_SHARE_NONE UINT32_MAX /* more than is ever left */

/* A peer may leave this part of the receives behind and come again, whatever others hold. */
#define CREDIT_BEHIND_PART 64u

struct credit_pool {
	uint32_t capacity; /* messages that the queue can hold */
	uint32_t shared;   /* sum of the shares, and of receives in use that their connections left
			      behind */
	uint32_t to_join;  /* members that may still come: one is kept for each */
	uint32_t left;	   /* what nobody has and nobody is to have */
};

/* What connections of one peer share among them. */
struct credit_group {
	uint32_t size;	 /* sum of what their shares have beyond the first message, which each
			    connection has, and of 'behind' */
	uint32_t behind; /* receives in use whose connections have gone */
};

struct credit_share {
	uint32_t size;
	uint32_t latest; /* grant */
	uint32_t next;	 /* grant that would follow, at most */
	uint32_t unsent; /* replies that have a grant and were not sent yet */
	uint32_t steady; /* what may be granted once more, and changes nothing, while as much is
			    left; CREDIT_SHARE_NONE: nothing */
	struct credit_group *group; /* NULL: none */
};

void credit_pool_init(struct credit_pool *pool, uint32_t capacity, uint32_t members_max);

/* A connection comes, with a share of one, to others of its 'group', or NULL. False: there is no
 * room for it. */
bool credit_share_join(struct credit_pool *pool, struct credit_share *share,
		       struct credit_group *group);
/* It goes; 'in_use' receives are left behind, each to be given back by credit_pool_return(). Until
 * then they count for its group. */
void credit_share_leave(struct credit_pool *pool, struct credit_share *share, uint32_t in_use);
void credit_pool_return(struct credit_pool *pool, struct credit_group *group);

/* Whether another connection of the group may come. What its connections leave behind leaves an
 * eighth to others, as what they have does; else each newcomer could leave one more behind. A small
 * part of the pool is allowed in any case: others may have used up the rest. */
static inline bool credit_group_may_join(const struct credit_pool *pool,
					 const struct credit_group *group)
{
	return group->behind <= 7 * pool->left ||
	       group->behind <= pool->capacity / CREDIT_BEHIND_PART;
}

/* Parts of the two below. */
uint32_t credit_share_change(struct credit_pool *pool, struct credit_share *share,
			     uint32_t requested, uint32_t limit);
void credit_share_shrink(struct credit_pool *pool, struct credit_share *share);

/* What to put into a reply: at most what was asked for, at most 'limit', which is always the same,
 * at least 1. */
static inline uint32_t credit_share_grant(struct credit_pool *pool, struct credit_share *share,
					  uint32_t requested, uint32_t limit)
{
	if (requested != share->steady || requested > pool->left)
		return credit_share_change(pool, share, requested, limit);
	share->unsent++;
	return requested;
}

/* Whether a grant of that, in a reply that is on its way at once, changes nothing:
 * credit_share_grant() and credit_share_sent(). */
static inline bool credit_share_is_unchanged(const struct credit_pool *pool,
					     const struct credit_share *share, uint32_t requested)
{
	return requested == share->steady && requested <= pool->left &&
	       (share->unsent > 0 || requested >= share->size);
}

/* That reply is on its way, and its call's receive was given back. */
static inline void credit_share_sent(struct credit_pool *pool, struct credit_share *share,
				     uint32_t granted)
{
	/* While another one is to be sent, which of the grants the peer has is open. */
	if (--share->unsent == 0 && granted < share->size)
		credit_share_shrink(pool, share);
}

/* It could not be sent after all: it waits, and others may pass it by, which grant what the peer
 * does not go by when this one comes. And it goes. What that call took of the share was settled
 * before. */
static inline void credit_share_waits(struct credit_share *share)
{
	share->unsent++;
}

static inline void credit_share_goes(struct credit_share *share)
{
	share->unsent--;
}

/* For long enough nothing came, nothing is in use, and the peer has got all replies. */
void credit_share_idle(struct credit_pool *pool, struct credit_share *share);

/* Of the side that calls, which knows what is under way: a share of 'wanted', or as much of it as
 * there is; at least 'in_flight'. Returns the share. */
uint32_t credit_share_resize(struct credit_pool *pool, struct credit_share *share, uint32_t wanted,
			     uint32_t in_flight);

/* Of the same side: so many more than its calls take, for one of them. False: there is no room. And
 * its reverse. */
bool credit_share_extend(struct credit_pool *pool, struct credit_share *share, uint32_t count);
void credit_share_reduce(struct credit_pool *pool, struct credit_share *share, uint32_t count);

#endif
