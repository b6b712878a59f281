/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FACTS_H
#define FACTS_H

/*
 * The machine as /proc, /sys and libibverbs describe it. The files of this folder:
 *
 *   main.c            examines, reports and fixes
 *   options.[ch]      the command line
 *   facts*.c          read the machine: facts.h
 *   sysfile.[ch]      reads files of /proc and /sys
 *   cpus.[ch]         sets of CPUs
 *   load.[ch]         the engines of a profile, and what they need in total
 *   findings.[ch]     a list of findings, each with its remedy
 *   judge*.[ch]       compare the facts with the needs, and add findings
 *   report_text.c     prints findings as text: report.h
 *   report_json.c     prints findings as JSON
 *   fix.[ch]          applies remedies
 */

#include <infiniband/verbs.h>

#include "cpus.h"
#include "memory_room.h"

#define FACTS_ROOT_BYTES  256u
#define FACTS_NODES_MAX	  64u
#define FACTS_IRQS_MAX	  4096u
#define FACTS_DEVICES_MAX 32u

/* The sizes of hugepages. */
enum page_size { PAGES_2M, PAGES_1G, PAGE_SIZES };

/* The hugepages of one size, of the machine or of a NUMA node. */
struct page_facts {
	bool exist; /* the kernel has this size */
	uint64_t total;
	uint64_t free; /* those that are neither in use nor reserved for a mapping */
};

struct node_facts {
	bool exists;
	cpu_set_t cpus;
	uint32_t distance[FACTS_NODES_MAX]; /* to other nodes; 0: unknown */
	struct page_facts pages[PAGE_SIZES];
};

struct cpu_facts {
	int node;	    /* -1: unknown */
	cpu_set_t siblings; /* the CPUs of the same core, with this one; empty: unknown */
	char governor[32];  /* "": the kernel does not set the frequency */
};

struct irq_facts {
	uint32_t number;
	cpu_set_t cpus; /* those that may handle it */
	char name[48];
};

struct device_facts {
	char name[64];
	int node; /* -1: unknown */
	bool is_active;
	char iommu[32]; /* the type of its IOMMU domain, such as "identity"; "": none */
	bool has_attr;	/* 'attr' is known */
	int open_error; /* errno, if the device could not be opened; 0: it was not tried */
	struct ibv_device_attr attr;
};

/* A limit that a file states. */
struct limit_facts {
	bool exists;
	double value;  /* bytes that are left, or a number of CPUs */
	uint64_t used; /* bytes in use, which the limit includes */
	char file[720];
};

struct facts {
	char root[FACTS_ROOT_BYTES]; /* put before each path; "": this machine */
	bool is_virtual;
	/* CPUs */
	bool has_online;
	cpu_set_t online;
	cpu_set_t present; /* also those that are offline */
	cpu_set_t allowed; /* to this process */
	bool has_isolated; /* the kernel says which CPUs are isolated */
	cpu_set_t isolated;
	bool has_nohz_full; /* the kernel can stop the tick of busy CPUs */
	cpu_set_t nohz_full;
	struct cpu_facts cpus[CPUS_MAX];
	uint32_t nirqs;
	bool has_more_irqs; /* than irqs[] has room for */
	struct irq_facts irqs[FACTS_IRQS_MAX];
	struct limit_facts cpu_quota; /* CPUs that the cgroups allow */
	/* memory */
	uint32_t nnodes;
	struct node_facts nodes[FACTS_NODES_MAX];
	struct page_facts pages[PAGE_SIZES]; /* of all nodes */
	uint64_t default_page_bytes;	     /* the size of vm.nr_hugepages; 0: unknown */
	struct limit_facts page_limit[PAGE_SIZES];
	char thp[64]; /* transparent hugepages, such as "always [madvise] never"; "": none */
	struct memory_room room;
	uint64_t available_bytes; /* MemAvailable; UINT64_MAX: unknown */
	uint64_t memlock_bytes;	  /* UINT64_MAX: no limit */
	uint64_t memlock_hard_bytes;
	bool has_memlock;
	bool may_lock_all; /* the user of the programs has CAP_IPC_LOCK */
	char user[64];	   /* the user of the programs; "": that of this process */
	bool has_dev_shm;
	uint64_t dev_shm_bytes, dev_shm_used_bytes;
	/* RDMA devices */
	bool has_iommu;
	bool has_rdma_cm; /* /dev/infiniband/rdma_cm exists */
	uint32_t ndevices;
	struct device_facts devices[FACTS_DEVICES_MAX];
};

/*
 * Reads all facts. 'root' is put before the paths /proc, /sys, /dev and /etc. It is "" for this
 * machine. The attributes of devices are then read from libibverbs. 'user' is the name of the user
 * of the programs, or "" for that of this process. A fact that cannot be read is unknown. Returns
 * NULL if there is no memory. The caller frees the facts by free().
 */
struct facts *facts_read(const char *root, const char *user);

/* The parts of facts_read(). */
void facts_read_cpus(struct facts *facts);
void facts_read_memory(struct facts *facts);
void facts_read_user(struct facts *facts); /* after facts_read_memory() */
void facts_read_devices(struct facts *facts);

/* Returns the size in bytes of hugepages. */
static inline uint64_t facts_page_bytes(enum page_size size)
{
	return size == PAGES_1G ? UINT64_C(1) << 30 : UINT64_C(1) << 21;
}

#endif
