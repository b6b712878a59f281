/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows a process on the screen, and reads the keys. */
#include "screen.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>

#include "layout.h"

static const char keys[] = "q quit p pause s sort Tab table up/down scroll r read";

/* The screen, with the choices of the user. */
struct view {
	struct show_options options;
	bool is_paused, ends;
	uint32_t selected; /* the table that the keys scroll */
	uint32_t firsts[SECTIONS];
	struct layout layouts[SECTIONS];
	struct section sections[SECTIONS];
};

static volatile sig_atomic_t has_signal;

static void on_signal(int number)
{
	(void)number;
	has_signal = 1;
}

void screen_title(const struct watch *watch, const struct show_options *options, bool is_paused,
		  char title[SECTION_COLUMNS])
{
	const struct watch_state *state = watch_state(watch);
	const char *status = is_paused ? " (paused)" : "";

	if (watch->result != WATCH_OK) {
		snprintf(title, SECTION_COLUMNS, "weir-top%s: %s; waiting for a process: %s",
			 status,
			 watch->result == WATCH_SILENT ? "the process does not answer"
						       : "the process has ended",
			 watch->path);
		return;
	}
	snprintf(title, SECTION_COLUMNS,
		 "weir-top%s: process %" PRId64 "; engines %u; connections %" PRIu64
		 "; calls %" PRIu64 "; stuck %" PRIu64 "; every %.3g s%s",
		 status, watch->sock.pid, state->nengines, state->conns_total, state->calls_total,
		 state->calls_stuck, (double)options->interval_ms / 1000,
		 state->is_partial ? "; incomplete" : "");
}

/* Writes a line, which is cut off at the edge of the screen, and fills the rest of its row. */
static void put_line(int row, int attributes, const char *text)
{
	attrset(attributes);
	mvaddnstr(row, 0, text, COLS);
	for (int column = getcurx(stdscr); getcury(stdscr) == row && column < COLS; column++)
		mvaddch(row, column, ' ');
	attrset(A_NORMAL);
}

/* Draws a table. A "+" at the end of its head says that there are more rows. */
static void draw_section(struct view *view, uint32_t index, int *row)
{
	const struct section *section = &view->sections[index];
	const struct layout *layout = &view->layouts[index];
	int attributes = index == view->selected ? A_REVERSE | A_BOLD : A_REVERSE;
	char head[SECTION_COLUMNS];

	if (section->total == 0)
		section_empty(section, head);
	else
		snprintf(head, sizeof(head), "%s", section->head);
	put_line(*row, attributes, head);
	if (layout->n < section->total)
		mvaddch(*row, COLS - 1, '+' | (chtype)attributes);
	++*row;
	for (uint32_t i = 0; i < layout->n; i++)
		put_line((*row)++, A_NORMAL, section->rows[layout->first + i]);
}

/* Draws the keys, the order, and the rows of the selected table. */
static void draw_foot(const struct view *view)
{
	const struct section *section = &view->sections[view->selected];
	const struct layout *layout = &view->layouts[view->selected];
	char foot[SECTION_COLUMNS];

	snprintf(foot, sizeof(foot), "%s | by %s | %u-%u of %u", keys,
		 sort_name(view->options.sort), layout->n > 0 ? layout->first + 1 : 0,
		 layout->first + layout->n, section->total);
	put_line(LINES - 1, A_NORMAL, foot);
}

static void draw_small(void)
{
	char text[100];

	snprintf(text, sizeof(text), "weir-top needs %ux%u; this terminal has %dx%d",
		 LAYOUT_COLUMNS_MIN, LAYOUT_ROWS_MIN, COLS, LINES);
	mvaddstr(0, 0, text); /* continues in the next line if the screen is too narrow */
}

static void draw(struct view *view, const struct watch *watch)
{
	char title[SECTION_COLUMNS];
	int row = 1;

	erase();
	if (LINES < (int)LAYOUT_ROWS_MIN || COLS < (int)LAYOUT_COLUMNS_MIN) {
		draw_small();
		refresh();
		return;
	}
	screen_title(watch, &view->options, view->is_paused, title);
	put_line(0, A_BOLD, title);
	if (watch->has_state) {
		sections_fill(watch_state(watch), &watch->rates, view->options.sort,
			      view->sections);
		layout_divide(view->sections, (uint32_t)LINES - 2, view->firsts, view->layouts);
		for (uint32_t i = 0; i < SECTIONS; i++)
			draw_section(view, i, &row);
	} else {
		put_line(2, A_NORMAL, watch->sock.why);
	}
	draw_foot(view);
	refresh();
}

static void scroll_by(struct view *view, int rows)
{
	uint32_t *first = &view->firsts[view->selected];

	if (rows < 0 && *first < (uint32_t)-rows)
		*first = 0;
	else
		*first += (uint32_t)rows; /* layout_divide() limits it */
}

/* Carries a key out. Returns whether the process must be read at once. */
static bool on_key(struct view *view, int key)
{
	int page = (int)view->layouts[view->selected].n;

	switch (key) {
	case 'q':
	case 'Q':
		view->ends = true;
		return false;
	case 'p':
	case ' ':
		view->is_paused = !view->is_paused;
		return false;
	case 's':
		view->options.sort = (enum sort)((view->options.sort + 1) % SORTS);
		return false;
	case 'r':
		return true;
	case '\t':
	case KEY_RIGHT:
		view->selected = (view->selected + 1) % SECTIONS;
		return false;
	case KEY_LEFT:
	case KEY_BTAB:
		view->selected = (view->selected + SECTIONS - 1) % SECTIONS;
		return false;
	case KEY_UP:
		scroll_by(view, -1);
		return false;
	case KEY_DOWN:
		scroll_by(view, 1);
		return false;
	case KEY_PPAGE:
		scroll_by(view, -page);
		return false;
	case KEY_NPAGE:
		scroll_by(view, page);
		return false;
	default: /* KEY_RESIZE: the screen is drawn again */
		return false;
	}
}

/* Handles the keys that were pressed. Returns whether the process must be read at once. */
static bool read_keys(struct view *view)
{
	bool reads = false;
	int key;

	while ((key = getch()) != ERR)
		reads |= on_key(view, key);
	return reads;
}

/* Waits for a key up to a time. Sets *is_gone if the terminal has been closed. */
static void wait_for_key(uint64_t until_ms, bool *is_gone)
{
	struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t now_ms = watch_clock_ms();

	if (poll(&pfd, 1, now_ms < until_ms ? (int)(until_ms - now_ms) : 0) > 0)
		*is_gone = (pfd.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static void run_view(struct view *view, struct watch *watch)
{
	uint64_t next_ms = watch_clock_ms() + view->options.interval_ms;
	bool is_gone = false;

	while (!view->ends && !has_signal && !is_gone) {
		draw(view, watch);
		wait_for_key(next_ms, &is_gone);
		if (read_keys(view))
			next_ms = 0;
		if (watch_clock_ms() < next_ms)
			continue;
		next_ms = watch_clock_ms() + view->options.interval_ms;
		if (!view->is_paused)
			(void)watch_update(watch);
	}
}

static int start_screen(void)
{
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal) {
		fprintf(stderr,
			"weir-top: the terminal '%s' is not known: set TERM, or use --batch\n",
			getenv("TERM") ? getenv("TERM") : "");
		return -1;
	}
	set_term(terminal);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	(void)curs_set(0);
	return 0;
}

int screen_run(struct watch *watch, const struct show_options *options)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct view *view = calloc(1, sizeof(*view));

	if (!view) {
		fputs("weir-top: no memory for the tables\n", stderr);
		return EXIT_FAILURE;
	}
	view->options = *options;
	view->selected = SECTION_CONNS;
	if (start_screen() != 0) {
		free(view);
		return EXIT_FAILURE;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	run_view(view, watch);
	endwin();
	free(view);
	return EXIT_SUCCESS;
}
