/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that writes the file of a capture. It takes records from all rings in the order of
 * their times, and makes frames of them.
 *
 * A connection gets addresses, queue pairs and sequence numbers of its own, because the transport
 * might have none. Its side 0 is the requester, and side 1 is the responder.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "cm_mad.h"
#include "frame.h"
#include "handles.h"
#include "helper.h"
#include "log.h"
#include "pcapng.h"
#include "terminal.h"

/* The addresses of requesters and of responders, from the range for benchmarks (RFC 2544). The low
 * 16 bits are those of the number of the connection. */
#define REQUESTERS_IP 0xc6120000u /* 198.18.0.0 */
#define RESPONDERS_IP 0xc6130000u /* 198.19.0.0 */
#define FIRST_QPN     0x100u
#define FIRST_PORT    0xc000u /* UDP ports of RoCEv2 begin here */
#define NFS_RDMA_PORT 20049u
#define CM_QPN	      1u
/* The first sequence numbers of the sides. They differ, because Wireshark has one list of messages
 * for both directions. */
#define FIRST_PSN(side) (0x100000u + 0x800000u * (side))
#define FIRST_HANDLE	0x00010000u
#define PAUSE_NS	1000000 /* between two looks at empty rings */

/* A connection in the file. */
struct writer_conn {
	bool is_known;		 /* its record OPEN was written */
	bool is_requester;	 /* this process is the requester */
	uint32_t psn[2];	 /* of the next frame that the side sends */
	uint32_t msn[2];	 /* number of operations that the side has answered */
	struct handles *handles; /* NULL: no chunk was seen */
};

struct writer {
	struct capture *capture;
	struct pcapng *file;
	struct writer_conn *conns; /* by their numbers in the capture */
	uint32_t nconns;
	uint64_t nframes;
	uint32_t last_handle;
	uint32_t mad_psn; /* of the next frame of the connection manager */
	uint8_t frame[FRAME_BYTES_MAX];
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t ip_of(uint32_t number, uint32_t side)
{
	return (side == 0 ? REQUESTERS_IP : RESPONDERS_IP) | ((number + 1) & 0xffff);
}

static uint32_t qpn_of(uint32_t number, uint32_t side)
{
	return (FIRST_QPN + 2 * number + side) & FRAME_PSN_MASK;
}

/* Sets the path of a frame that the side 'from' of a connection sends. */
static void set_path(struct frame_path *path, uint32_t number, uint32_t from, uint32_t to_qpn)
{
	*path = (struct frame_path){
		.from_ip = ip_of(number, from),
		.to_ip = ip_of(number, 1 - from),
		.from_port = (uint16_t)(FIRST_PORT | (number & 0x3fff)),
		.to_qpn = to_qpn,
	};
}

static void write_frame(struct writer *writer, uint64_t time_ns, const struct frame_path *path,
			const struct frame *frame, const char *comment)
{
	uint32_t wire_bytes, bytes = frame_write(writer->frame, path, frame, &wire_bytes);

	pcapng_frame(writer->file, time_ns, writer->frame, bytes, wire_bytes, comment);
	writer->nframes++;
}

static void write_mad(struct writer *writer, uint64_t time_ns, uint32_t number, uint32_t from,
		      const uint8_t *mad, const char *comment)
{
	const struct frame frame = {
		.opcode = FRAME_UD_SEND_ONLY,
		.psn = writer->mad_psn++,
		.payload = mad,
		.len = CM_MAD_BYTES,
		.kept = CM_MAD_BYTES,
	};
	struct frame_path path;

	set_path(&path, number, from, CM_QPN);
	write_frame(writer, time_ns, &path, &frame, comment);
}

static void set_mad_conn(struct cm_mad_conn *mad, uint32_t number)
{
	memset(mad, 0, sizeof(*mad));
	mad->port = NFS_RDMA_PORT;
	for (uint32_t side = 0; side < 2; side++) {
		mad->sides[side].ip = ip_of(number, side);
		mad->sides[side].qpn = qpn_of(number, side);
		mad->sides[side].psn = FIRST_PSN(side);
		mad->sides[side].comm_id = 2 * number + side + 1;
	}
}

/* Returns the connection of a record, or NULL if its record OPEN is missing. */
static struct writer_conn *conn_of_record(const struct writer *writer,
					  const struct capture_record *record)
{
	struct writer_conn *conn =
		record->conn < writer->nconns ? &writer->conns[record->conn] : NULL;

	return conn && conn->is_known ? conn : NULL;
}

/* Makes room for a connection. Returns whether there is memory. */
static bool grow(struct writer *writer, uint32_t number)
{
	uint32_t n = writer->nconns;
	struct writer_conn *conns;

	if (number < n)
		return true;
	while (n <= number)
		n = n ? 2 * n : 64;
	conns = realloc(writer->conns, n * sizeof(*conns));
	if (!conns)
		return false;
	memset(conns + writer->nconns, 0, (n - writer->nconns) * sizeof(*conns));
	writer->conns = conns;
	writer->nconns = n;
	return true;
}

/* Writes the set-up of a connection. */
static void write_open(struct writer *writer, const struct capture_record *record)
{
	const struct capture_opened *opened = (const void *)(record + 1);
	uint32_t number = record->conn, ours = opened->is_requester ? 0 : 1;
	char peer[WEIR_PEER_ADDRESS_BYTES], comment[PCAPNG_COMMENT_MAX];
	uint8_t message[CM_MAD_BYTES];
	struct cm_mad_conn mad;

	if (!grow(writer, number))
		return;
	writer->conns[number].is_known = true;
	writer->conns[number].is_requester = opened->is_requester;
	for (uint32_t side = 0; side < 2; side++)
		writer->conns[number].psn[side] = FIRST_PSN(side);
	set_mad_conn(&mad, number);
	for (uint32_t i = 0; i < 2; i++) {
		struct cm_mad_side *side = &mad.sides[i == 0 ? ours : 1 - ours];

		memcpy(side->private_data, opened->private_data[i], CM_PRIVATE_SIZE);
		side->private_bytes = CM_PRIVATE_SIZE;
	}
	terminal_text(opened->peer, peer, sizeof(peer));
	snprintf(comment, sizeof(comment), "connection %llu of the %s with %s",
		 (unsigned long long)opened->conn_id,
		 opened->is_requester ? "requester" : "responder", peer);
	cm_mad_request(message, &mad);
	write_mad(writer, record->time_ns, number, 0, message, comment);
	cm_mad_reply(message, &mad);
	write_mad(writer, record->time_ns, number, 1, message, NULL);
	cm_mad_ready(message, &mad);
	write_mad(writer, record->time_ns, number, 0, message, NULL);
	atomic_fetch_add(&writer->capture->written_conns, 1);
}

static void write_close(struct writer *writer, const struct capture_record *record,
			struct writer_conn *conn)
{
	uint32_t from = conn->is_requester == record->is_ours ? 0 : 1;
	uint8_t message[CM_MAD_BYTES];
	struct cm_mad_conn mad;

	set_mad_conn(&mad, record->conn);
	cm_mad_disconnect(message, &mad, from);
	write_mad(writer, record->time_ns, record->conn, from, message, NULL);
	conn->is_known = false;
	free(conn->handles);
	conn->handles = NULL;
}

/* Replaces the handles of a message or an operation (handles.h). Without memory, the handles stay
 * as they are. */
static void replace_handles(struct writer *writer, struct capture_record *record, uint32_t from,
			    struct writer_conn *conn)
{
	uint8_t *data = (uint8_t *)(record + 1);

	if (record->kind == CAPTURE_WRITE || record->kind == CAPTURE_READ) {
		if (conn->handles)
			record->rkey = handles_find(conn->handles, record->rkey, record->raddr);
		return;
	}
	if (!handles_has_chunks(data, record->kept))
		return;
	if (!conn->handles) {
		conn->handles = calloc(1, sizeof(*conn->handles));
		if (!conn->handles)
			return;
		conn->handles->last = &writer->last_handle;
	}
	handles_replace(conn->handles, data, record->kept, from == 0);
}

/* Writes the frames of the data of an operation, which the side 'from' sends. The sequence numbers
 * begin at 'psn'. */
static void write_data(struct writer *writer, const struct capture_record *record, uint32_t from,
		       enum frame_kind kind, uint32_t psn, uint32_t msn)
{
	const uint8_t *data = (const uint8_t *)(record + 1);
	uint32_t count = frame_count(record->len), at = 0;
	struct frame_path path;

	set_path(&path, record->conn, from, qpn_of(record->conn, 1 - from));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = record->len - at < FRAME_MTU ? record->len - at : FRAME_MTU;
		uint32_t left = record->kept > at ? record->kept - at : 0;
		const struct frame frame = {
			.opcode = frame_opcode_of(kind, i, count),
			.psn = psn + i,
			.raddr = record->raddr,
			.rkey = record->rkey,
			.operation_bytes = record->len,
			.msn = msn,
			.payload = data + at,
			.len = len,
			.kept = left < len ? left : len,
		};

		write_frame(writer, record->time_ns, &path, &frame, NULL);
		at += len;
	}
}

/* Writes an RDMA Read: its request, and the response of the other side. The sequence numbers of the
 * response are those that the request reserves. */
static void write_read(struct writer *writer, const struct capture_record *record, uint32_t from,
		       struct writer_conn *conn)
{
	uint32_t psn = conn->psn[from];
	const struct frame request = {
		.opcode = FRAME_READ_REQUEST,
		.psn = psn,
		.raddr = record->raddr,
		.rkey = record->rkey,
		.operation_bytes = record->len,
	};
	struct frame_path path;

	set_path(&path, record->conn, from, qpn_of(record->conn, 1 - from));
	write_frame(writer, record->begin_ns, &path, &request, NULL);
	conn->psn[from] += frame_count(record->len);
	write_data(writer, record, 1 - from, FRAME_KIND_READ_RESPONSE, psn, ++conn->msn[1 - from]);
}

static void write_operation(struct writer *writer, const struct capture_record *record,
			    uint32_t from, struct writer_conn *conn)
{
	static const enum frame_kind kinds[] = {
		[CAPTURE_SEND] = FRAME_KIND_SEND,
		[CAPTURE_SEND_INV] = FRAME_KIND_SEND_INV,
		[CAPTURE_WRITE] = FRAME_KIND_WRITE,
	};

	write_data(writer, record, from, kinds[record->kind], conn->psn[from], 0);
	conn->psn[from] += frame_count(record->len);
}

static void write_record(struct writer *writer, struct capture_record *record)
{
	struct writer_conn *conn = conn_of_record(writer, record);
	uint32_t from;

	if (record->kind == CAPTURE_OPEN) {
		write_open(writer, record);
		return;
	}
	if (!conn)
		return;
	from = conn->is_requester == record->is_ours ? 0 : 1;
	if (record->kind == CAPTURE_CLOSE) {
		write_close(writer, record, conn);
		return;
	}
	replace_handles(writer, record, from, conn);
	if (record->kind == CAPTURE_READ)
		write_read(writer, record, from, conn);
	else
		write_operation(writer, record, from, conn);
}

/* Returns whether the frames of a record fit in the file. */
static bool record_fits(const struct writer *writer, const struct capture_record *record)
{
	uint64_t n = record->kind == CAPTURE_OPEN ? 3 : 1 + (uint64_t)frame_count(record->len);
	uint64_t payload = record->kind == CAPTURE_OPEN || record->kind == CAPTURE_CLOSE
				   ? n * CM_MAD_BYTES
				   : record->kept;

	return pcapng_has_room(writer->file, n, n * (FRAME_HEADERS_MAX + 8) + payload);
}

/* Returns the ring with the oldest record, or NULL if all rings are empty. */
static struct capture_ring *oldest(struct capture *capture)
{
	uint32_t n = atomic_load(&capture->nrings);
	struct capture_ring *found = NULL;
	uint64_t oldest_ns = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct capture_record *record = capture_ring_first(capture->rings[i]);

		if (record && record->time_ns < oldest_ns) {
			oldest_ns = record->time_ns;
			found = capture->rings[i];
		}
	}
	return found;
}

/* Publishes how much the file has. The first 'nframes' frames are complete in it, unless a write
 * has failed. */
static void publish(struct writer *writer, uint64_t nframes)
{
	if (writer->file->error == 0)
		atomic_store(&writer->capture->frames, nframes);
	atomic_store(&writer->capture->bytes, writer->file->written);
}

/* Writes all records in the rings. Returns 0, -EOVERFLOW if the file is full, -ETIME at the time
 * limit, or the error of a write. */
static int write_records(struct writer *writer)
{
	struct capture *capture = writer->capture;
	struct capture_ring *ring;

	while ((ring = oldest(capture))) {
		struct capture_record *record = capture_ring_first(ring);
		uint64_t nframes = writer->nframes, written = writer->file->written;

		if (!record_fits(writer, record))
			return -EOVERFLOW;
		write_record(writer, record);
		capture_ring_pop(ring);
		/* The frames of this record can be in the buffer still. */
		if (writer->file->written > written)
			publish(writer, nframes);
		if (writer->file->error != 0)
			return writer->file->error;
		/* Under load, the rings might never be empty. */
		if (clock_ns(CLOCK_MONOTONIC) >= capture->deadline_ns)
			return -ETIME;
	}
	if (pcapng_flush(writer->file) == 0)
		publish(writer, writer->nframes);
	return writer->file->error;
}

static const char *end_text(int end)
{
	switch (end) {
	case 0:
		return "the capture was stopped";
	case -ETIME:
		return "the capture reached its time limit";
	case -EOVERFLOW:
		return "the file reached its largest length";
	default:
		return "the file could not be written";
	}
}

/* Completes the file. */
static void finish(struct writer *writer, int end)
{
	struct capture *capture = writer->capture;
	uint64_t dropped;
	int rc;

	atomic_store(&capture->is_on, false);
	dropped = capture_dropped(capture);
	rc = pcapng_end(writer->file, clock_ns(CLOCK_REALTIME), writer->nframes + dropped, dropped,
			end_text(end));
	if (close(writer->file->fd) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		end = rc;
	publish(writer, writer->nframes);
	atomic_store(&capture->end, end);
	atomic_store(&capture->is_written, true);
	if (rc != 0)
		LOG(ENGINE, ERROR,
		    "capture: can't write %s: %s; the file ends early: make room, and capture to "
		    "another file",
		    capture->path, strerror(-rc));
	else
		LOG(ENGINE, NOTICE,
		    "capture: %s has %llu frames, and %llu records were dropped: %s", capture->path,
		    (unsigned long long)writer->nframes, (unsigned long long)dropped,
		    end_text(end));
}

static void *run(void *arg)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct writer *writer = arg;
	struct capture *capture = writer->capture;
	int end = 0;

	for (;;) {
		/* Read before the rings, which thus have all records of a capture that stops. */
		bool is_last = atomic_load(&capture->is_stopping);

		end = write_records(writer);
		if (end == 0 && !is_last && clock_ns(CLOCK_MONOTONIC) >= capture->deadline_ns)
			end = -ETIME;
		if (end != 0 || is_last)
			break;
		(void)nanosleep(&pause, NULL);
	}
	finish(writer, end);
	for (uint32_t i = 0; i < writer->nconns; i++)
		free(writer->conns[i].handles);
	free(writer->conns);
	free(writer);
	return NULL;
}

int capture_writer_start(struct capture *capture)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int rc;

	if (!writer)
		return -ENOMEM;
	writer->capture = capture;
	writer->file = capture->file;
	writer->last_handle = FIRST_HANDLE;
	rc = helper_create(&capture->writer, "weir-capture", run, writer);
	if (rc != 0)
		free(writer);
	return rc;
}
