/* SPDX-License-Identifier: BSD-3-Clause */
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
	"  --workload NAME    null (size bytes of arguments, no results), echo (size bytes there "
	"and back, "
	"in",
	"                     the message), read or write (size bytes placed directly), mixed, "
	"list (size",
	"                     bytes of results, in the message); default: null",
	"  --ratio PERCENT    reads in mixed; default 70",
	"  --size BYTES       k and m may follow; 0 to 64m; default: null 64, others 4096",
	"  --read-size B, --write-size B",
	"                     of reads and of writes in mixed; default: size",
	"  --working-set B    what reads are spread over, in blocks of their size; default 32k, or "
	"size",
	"  --access ORDER     random (default) or sequential blocks of the working set",
	"  --depth N          calls in flight on each connection, 1 to 1024; default 1",
	"  --connections N    1 to 4096; default 1",
	"  --active N         connections that carry the load, the others stay open and idle; "
	"default: all",
	"  --in-turn          an lcore's connections take turns, and depth is of all of them "
	"together",
	"  --verify           check each byte of data, on whichever side receives it",
	"  --reconnect        remake connections that are lost, by the profile's limits, and send "
	"their "
	"calls",
	"                     again; else the first one that is lost ends the run",
	"",
	"When calls are made:",
	"  by default         closed loop: the end of a call makes the next",
	"  --think TIME       closed loop, but a slot waits for so long between its calls: 500ns, "
	"10us, 1ms, "
	"...",
	"  --rate N           open loop: N calls a second in all, k and m (1000s) may follow, at "
	"times that "
	"are",
	"                     fixed before; round trips count from then. depth bounds what is in "
	"flight: a "
	"call",
	"                     that finds it full waits its turn, and is late",
	"",
	"How long:",
	"  --time SECONDS     measured time; default 5",
	"  --warmup SECONDS   before it; default 1",
	"  --steady PERCENT   after the warm-up, wait until five 100 ms in a row have rates within "
	"PERCENT;",
	"                     it is said when that does not happen within",
	"  --steady-time S    so many seconds; default 10",
	"  --calls N          make exactly N calls, without warm-up, instead of going by time",
	"  --repeat N         run everything N times: figures are medians, with their least and "
	"largest",
	"",
	"Sweeps: --size, --depth, --connections and --rate also take several values, as A,B,C, as "
	"A:B:xFACTOR",
	"or as A:B:+STEP, such as --size 512:1m:x2. All combinations are run, a row of the table "
	"for each.",
	"",
	"Where:",
	"  --listen ADDR      be the responder, until SIGINT (Ctrl-C) or SIGTERM",
	"  --connect ADDR     be the requester of a responder that runs elsewhere",
	"  --threads          both sides as threads of one process",
	"  --lcores LIST      cores to pin to, e.g. 0,1 or 0-3: the first half calls, the second "
	"answers; "
	"'any'",
	"                     does not pin; default: the profile's, else 0,1 where there are two",
	"  --profile FILE     an INI file, such as those in config/; what follows on the command "
	"line wins",
	"  --driver NAME      one of those below; default: the profile's, else shm",
	"  --driver-options S key=value,...",
	"  --inline BYTES     inline threshold, 1024 to 65536",
	"  --chunk BYTES      data of a WRITE of so many go by a Read chunk even where they would "
	"fit "
	"inline, 4 to "
	"65536;",
	"                     default: the profile's, else 0: as is faster",
	"  --exposure POLICY  what the responder may reach of the requester's memory: window (what "
	"a call "
	"names,",
	"                     until it ends), pool (all of it, while connected); default: the "
	"profile's, "
	"else",
	"                     window where the driver can keep a peer out, and pool over shm, "
	"which can't",
	"  --protocol P       v1, v2 (version 2 on both sides), or auto (version 2 if the "
	"responder speaks "
	"it);",
	"                     default: the profile's, else v1",
	"  --extension E      off, or with version 2: continuation (long messages go in several, "
	"not by "
	"chunks),",
	"                     direction (short results are not placed), placement (data go in "
	"messages, "
	"where",
	"                     these have places for them), all; default: the profile's, else off",
	"",
	"Output:",
	"  --threshold T      METRIC<LIMIT, or with <=, > or >=; may be repeated. METRIC: p50, "
	"p90, p99, "
	"p999,",
	"                     p9999, min, mean, max (5us, 1ms, ...), rate (500k), bandwidth "
	"(10GB/s)",
	"  --json FILE|-      all figures as JSON; with '-' on standard output, instead of the "
	"table",
	"  --csv FILE|-       a row for each run",
	"  --html FILE        a page with round trips by percentile, their histogram, throughput "
	"over time, "
	"and",
	"                     curves of sweeps; it needs no other file and no network",
	"  --quiet            no progress line",
	"  --help, --version",
	"",
	"Exit status: 0; 1: calls failed, results were wrong, a side did not start, or a report "
	"can't be",
	"written; 2: usage; 3: all is well but for a threshold that was not met; 128: SIGINT "
	"(Ctrl-C) or",
	"SIGTERM ended the runs early: the reports are of what was measured until then, and are "
	"marked",
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
