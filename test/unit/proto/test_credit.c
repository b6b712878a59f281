/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests of the credits of a requester and of a responder by themselves. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "credit.h"

static void requester_init__3_3_3_one_credit_until_the_first_reply(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 64);
	assert_int_equal(credit_available(&book), 1);
	credit_take(&book);
	assert_int_equal(credit_available(&book), 0);
	assert_true(credit_reply(&book, 32));
	assert_int_equal(credit_available(&book), 32);
}

static void requester_init__a_book_that_wants_nothing_wants_one(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 0);
	assert_int_equal(book.wanted, 1);
	assert_int_equal(credit_available(&book), 1);
}

static void available__3_3_1_never_more_in_flight_than_granted(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 16);
	credit_take(&book);
	credit_reply(&book, 16);
	for (uint32_t i = 16; i > 0; i--) {
		assert_int_equal(credit_available(&book), i);
		credit_take(&book);
	}
	assert_int_equal(credit_available(&book), 0);
	/* The responder reduces the grant: calls in flight continue, and new calls wait. */
	credit_reply(&book, 4);
	assert_int_equal(book.in_flight, 15);
	assert_int_equal(credit_available(&book), 0);
	for (uint32_t i = 0; i < 12; i++)
		credit_reply(&book, 4);
	assert_int_equal(credit_available(&book), 1);
}

static void take_more__a_call_of_several_messages_takes_as_many(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 16);
	credit_first(&book, 8);
	credit_take(&book);
	credit_take_more(&book, 4);
	assert_int_equal(credit_available(&book), 3);
	/*
	 * The reply returns the credit of its call. credit_lost() has returned those of the other
	 * calls.
	 */
	credit_lost(&book, 4);
	credit_reply(&book, 8);
	assert_int_equal(credit_available(&book), 8);
	credit_take(&book);
	credit_take_more(&book, 2);
	credit_lost(&book, 3);
	assert_int_equal(book.in_flight, 0);
	credit_lost(&book, 3); /* the count never falls below zero */
	assert_int_equal(book.in_flight, 0);
}

static void reply__3_3_1_grant_of_zero_counts_as_one(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 16);
	credit_take(&book);
	assert_false(credit_reply(&book, 0));
	assert_int_equal(book.granted, 1);
	assert_int_equal(credit_available(&book), 1);
}

static void reply__3_3_1_grant_above_what_was_asked_counts_as_that(void **state)
{
	static const uint32_t grants[] = {16, 17, 1000, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(grants) / sizeof(grants[0]); i++) {
		struct credit_requester book;

		credit_requester_init(&book, 16);
		credit_take(&book);
		assert_true(credit_reply(&book, grants[i]));
		assert_int_equal(credit_available(&book), 16);
	}
}

static void lost__gives_the_credit_back_and_keeps_the_grant(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 16);
	credit_take(&book);
	credit_reply(&book, 8);
	credit_take(&book);
	credit_lost(&book, 1);
	assert_int_equal(credit_available(&book), 8);
	credit_lost(&book, 1); /* one reply too many does not wrap the count */
	assert_int_equal(credit_available(&book), 8);
}

static void first__of_properties_counts_before_any_call(void **state)
{
	struct credit_requester book;

	(void)state;
	credit_requester_init(&book, 8);
	credit_first(&book, 0); /* the header carried no credits */
	assert_int_equal(credit_available(&book), 1);
	credit_first(&book, 5);
	assert_int_equal(credit_available(&book), 5);
	credit_first(&book, 9);
	assert_int_equal(credit_available(&book), 8);
}

static void grant__3_3_1_is_at_least_one_and_at_most_asked_and_posted(void **state)
{
	static const struct {
		uint32_t limit, requested, granted;
	} cases[] = {
		{16, 0, 1},	      {16, 1, 1},  {16, 15, 15}, {16, 16, 16}, {16, 17, 16},
		{16, UINT32_MAX, 16}, {1, 100, 1}, {0, 0, 1},	 {0, 100, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct credit_responder book = {.limit = cases[i].limit};

		assert_int_equal(credit_grant(&book, cases[i].requested), cases[i].granted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requester_init__3_3_3_one_credit_until_the_first_reply),
		cmocka_unit_test(requester_init__a_book_that_wants_nothing_wants_one),
		cmocka_unit_test(available__3_3_1_never_more_in_flight_than_granted),
		cmocka_unit_test(take_more__a_call_of_several_messages_takes_as_many),
		cmocka_unit_test(reply__3_3_1_grant_of_zero_counts_as_one),
		cmocka_unit_test(reply__3_3_1_grant_above_what_was_asked_counts_as_that),
		cmocka_unit_test(lost__gives_the_credit_back_and_keeps_the_grant),
		cmocka_unit_test(first__of_properties_counts_before_any_call),
		cmocka_unit_test(grant__3_3_1_is_at_least_one_and_at_most_asked_and_posted),
	};

	return cmocka_run_group_tests_name("credit", tests, NULL, NULL);
}
