/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAKE_PROCESS_H
#define FAKE_PROCESS_H

/* A telemetry socket whose answers the test chooses. A thread serves one client after the other. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_ANSWERS 16u

struct fake_answer {
	const char *command; /* with its parameters */
	const char *text;    /* NULL: the connection is closed; "": no answer */
	size_t bytes;	     /* 0: strlen(text) */
};

struct fake_process {
	char path[100];
	int fd;
	pthread_t thread;
	pthread_mutex_t lock; /* of the members below */
	struct fake_answer hello;
	struct fake_answer answers[FAKE_ANSWERS];
};

/* Creates a socket in a new folder, and starts the thread. Its hello is a valid one. */
void fake_start(struct fake_process *fake);
void fake_stop(struct fake_process *fake);

/* Sets the first message, or the answer to a command. The texts must stay valid. A command without
 * an answer is answered like an unknown one. */
void fake_hello(struct fake_process *fake, const char *text, size_t bytes);
void fake_answer(struct fake_process *fake, const char *command, const char *text, size_t bytes);

/* Sets the answers of a process with one engine, one connection, one call and one procedure. */
void fake_good_state(struct fake_process *fake);
/* Returns the number of these answers, and one of them. */
size_t fake_good_answers(void);
const struct fake_answer *fake_good_answer(size_t index);

#endif
