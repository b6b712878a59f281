/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of --help. */
#include "help.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* Lines have at most 110 columns. */
static const char *const lines[] = {
	"Usage: weir-bench [options]",
	"Measure RPCs per second and round-trip times over RPC-over-RDMA. Without --listen or",
	"--connect both sides run here, as two processes that share memory.",
	"",
	"Load:",
	"  --overview         one table of small, 4 KiB and 1 MiB calls, in about 20 s; the other "
	"options of this",
	"                     group do not apply, except --connections and --verify",
	"  --workload NAME    null (size bytes of arguments, no results), echo (size bytes in both "
	"directions, in",
	"                     the messages), read or write (size bytes placed directly), mixed, "
	"list (size",
	"                     bytes of results in the message); default: null",
	"  --ratio PERCENT    part of reads in mixed; default 70",
	"  --size BYTES       0 to 64m, with suffix k or m; default: null 64, others 4096",
	"  --read-size B, --write-size B",
	"                     sizes of reads and of writes in mixed; default: size",
	"  --working-set B    bytes that reads are distributed over, in blocks of their size; "
	"default 32k, or size",
	"  --access ORDER     random (default) or sequential blocks of the working set",
	"  --depth N          calls in flight on each connection, 1 to 1024; default 1",
	"  --connections N    1 to 4096; default 1",
	"  --active N         connections with load, the others stay open and idle; default: all",
	"  --in-turn          an lcore uses its connections in turn, and depth is for all of them "
	"together",
	"  --verify           check each byte of data on the side that receives it",
	"  --reconnect        reconnect lost connections within the profile's limits, and "
	"retransmit their",
	"                     calls; default: the first lost connection ends the run",
	"",
	"When calls are made:",
	"  by default         closed loop: the end of a call starts the next one",
	"  --think TIME       closed loop, but a slot waits between its calls: 500ns, 10us, 1ms, "
	"...",
	"  --rate N           open loop: N calls per second in total, with suffix k or m (1000s), "
	"at times that",
	"                     are fixed in advance; round trips count from these times. depth "
	"limits the calls in",
	"                     flight: further calls wait in order, and are late",
	"",
	"How long:",
	"  --time SECONDS     measured time; default 5",
	"  --warmup SECONDS   time before the measured time; default 1",
	"  --steady PERCENT   after the warm-up, wait until the rates of five consecutive 100 ms "
	"are within",
	"                     PERCENT; the report says if that does not happen within",
	"  --steady-time S    S seconds; default 10",
	"  --calls N          make exactly N calls, without warm-up, instead of a measured time",
	"  --repeat N         run everything N times: figures are medians, with minimum and "
	"maximum",
	"",
	"Sweeps: --size, --depth, --connections and --rate also take several values, as A,B,C, as "
	"A:B:xFACTOR",
	"or as A:B:+STEP, such as --size 512:1m:x2. All combinations are run. The table has a row "
	"for each.",
	"",
	"Where:",
	"  --listen ADDR      run the responder until SIGINT (Ctrl-C) or SIGTERM",
	"  --connect ADDR     run the requester for a responder that another weir-bench runs",
	"  --threads          run both sides as threads of one process",
	"  --lcores LIST      cores to pin to, e.g. 0,1 or 0-3: first half requester, other half "
	"responder; 'any'",
	"                     does not pin; default: the profile's, or 0,1 if there are two",
	"  --profile FILE     an INI file, such as those in config/; other options override it",
	"  --show-profile     print the profile in effect, as a file for --profile, and end",
	"  --driver NAME      a driver of the list below; default: the profile's, or shm",
	"  --driver-options S key=value,...",
	"  --inline BYTES     inline threshold, 1024 to 65536",
	"  --chunk BYTES      least size of WRITEs that use a Read chunk even if they fit inline, "
	"4 to 65536;",
	"                     default: the profile's, or 0: the faster way",
	"  --exposure POLICY  memory of the requester that the responder may access: window (that "
	"of a call,",
	"                     until the call ends), pool (all, while connected); default: the "
	"profile's, or",
	"                     window if the driver can restrict a peer, and pool over shm, which "
	"can't",
	"  --protocol P       v1, v2 (version 2 on both sides), or auto (version 2 if the "
	"responder speaks it);",
	"                     default: the profile's, or v1",
	"  --extension E      off, or with version 2: continuation (long messages are split, "
	"instead of chunks),",
	"                     direction (short results are not placed), placement (data are in "
	"messages if",
	"                     the peer can place them), all; default: the profile's, or off",
	"",
	"Output:",
	"  --threshold T      METRIC<LIMIT, or with <=, > or >=; may be repeated. METRIC: p50, "
	"p90, p99, p999,",
	"                     p9999, min, mean, max (5us, 1ms, ...), rate (500k), bandwidth "
	"(10GB/s)",
	"  --json FILE|-      all figures as JSON; '-' is standard output, instead of the table",
	"  --fio-json FILE|-  the figures in the form of fio, for its tools",
	"  --csv FILE|-       a row for each run",
	"  --html FILE        a page with round trips by percentile, their histogram, throughput "
	"over time, and",
	"                     curves of sweeps; it needs no other file and no network",
	"  --capture FILE     write messages and RDMA operations to a new file for Wireshark: "
	"those "
	"of the",
	"                     responder if it runs here, otherwise the requester's messages; rates "
	"are lower",
	"  --capture-bytes B, --capture-seconds S, --payload-bytes N",
	"                     end the capture at B bytes (256m) or after S seconds (600); record N "
	"bytes of each",
	"                     message and operation (all)",
	"  --quiet            no progress line",
	"  --help, --version",
	"",
	"Exit status: 0; 1: calls failed, results were wrong, a side did not start, or a report "
	"can't be",
	"written; 2: usage; 3: only a threshold was not met; 128: SIGINT (Ctrl-C) or",
	"SIGTERM ended the runs early. The reports contain the figures until then, and are marked",
	"'interrupted'. A second signal ends weir-bench at once, without a report.",
	"",
	"Drivers:",
};

bool bench_driver_is_for_load(const char *driver)
{
	return strcmp(driver, "sim") != 0;
}

void bench_help(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		puts(lines[i]);
	for (uint32_t i = 0; fabric_driver_at(i); i++)
		if (bench_driver_is_for_load(fabric_driver_at(i)->name))
			printf("  %-8s %s\n", fabric_driver_at(i)->name,
			       fabric_driver_at(i)->summary);
}
