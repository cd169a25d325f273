/*
 * A member of a measurement of native libfabric that fabtests does not have: the latency of fetching atomic
 * operations, and of collective operations.
 *
 *     member atomic|allreduce PROVIDER RANK MEMBERS BYTES WARMUP ITERATIONS
 *
 * It prints "name ADDRESS BASE KEY", reads such lines (without "name") of all members in the order of ranks, and
 * runs the operations. Member 0 prints "- { usec/xfer: TIME }" in the form of fabtests. All members make progress
 * until their standard input ends. As in fabtests, a member that waits polls.
 *
 * Collectives of libfabric 1.17 to 2.6 work over ofi_rxm only while one message is eager (FI_OFI_RXM_BUFFER_SIZE, by
 * default 16 KiB). Larger messages go as segments or by rendezvous, and prov/coll gets no completion of their sends:
 * rxm_handle_sar_comp and rxm_rndv_tx_finish (prov/rxm/src/rxm_cq.c) write a completion with prov/coll's context to
 * the application's queue, where rxm_finish_coll_eager_send would call prov/coll. The send is a fence, so the sum is
 * never computed, and the operation never ends. Therefore this program raises the limit to the size of the data,
 * posts fewer buffers for it, and tells completions apart by their contexts.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define MAXMEMBERS 1024
#define MAXNAME 64
#define KEY 0x600f
#define EAGER 16384 /* bytes: the default of FI_OFI_RXM_BUFFER_SIZE */
#define PATIENCE 10e6 /* microseconds that an operation may take */

static struct fi_info *info;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_eq *eq;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr, *result_mr;
static struct fid_mc *mc;
static fi_addr_t members[MAXMEMBERS];
static uint64_t far_base, far_key;
static char *buf, *result;
static size_t bytes;

static int leaving; /* other members may have ended */
static int status;

static void die(const char *what, long err)
{
	if (leaving)
		exit(status);
	fprintf(stderr, "member: %s: %s (%ld)\n", what, fi_strerror((int)labs(err)), err);
	exit(1);
}

static void must(const char *what, long err)
{
	if (err < 0)
		die(what, err);
}

static void open_endpoint(const char *provider, int collective)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = MAXMEMBERS};
	struct fid_fabric *fabric;

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = collective ? FI_MSG | FI_TAGGED | FI_COLLECTIVE : FI_MSG | FI_ATOMICS;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	must("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info));
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_eq_open", fi_eq_open(fabric, &eq_attr, &eq, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("bind queue", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	must("bind vector", fi_ep_bind(ep, &av->fid, 0));
	if (collective)
		must("bind events", fi_ep_bind(ep, &eq->fid, 0));
	must("fi_enable", fi_enable(ep));
	must("fi_mr_reg", fi_mr_reg(domain, buf, bytes, FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	must("fi_mr_reg", fi_mr_reg(domain, result, bytes, FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0, KEY + 1, 0, &result_mr, NULL));
}

static void meet(int n, int rank)
{
	unsigned char name[MAXNAME];
	char text[2 * MAXNAME + 1];
	size_t len = sizeof name, k;
	unsigned long long base, key;
	unsigned byte;
	int i;

	must("fi_getname", fi_getname(&ep->fid, name, &len));
	printf("name ");
	for (k = 0; k < len; k++)
		printf("%02x", name[k]);
	printf(" %llu %llu\n", info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (unsigned long long)(uintptr_t)buf : 0ull, (unsigned long long)fi_mr_key(mr));
	fflush(stdout);
	for (i = 0; i < n; i++) {
		if (scanf("%128s %llu %llu", text, &base, &key) != 3)
			exit(2);
		for (k = 0; sscanf(text + 2 * k, "%2x", &byte) == 1; k++)
			name[k] = (unsigned char)byte;
		if (fi_av_insert(av, name, 1, &members[i], 0, NULL) != 1)
			die("fi_av_insert", -FI_EINVAL);
		if (i == 1) {
			far_base = base;
			far_key = key;
		}
	}
	(void)rank;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* progress returns the context of an operation that ended, if any. */
static void *progress(void)
{
	struct fi_cq_entry done;
	struct fi_cq_err_entry bad = {0};
	ssize_t n = fi_cq_read(cq, &done, 1);

	if (n == -FI_EAVAIL) {
		fi_cq_readerr(cq, &bad, 0);
		die("completion", -bad.err);
	}
	if (n != -FI_EAGAIN)
		must("fi_cq_read", n);
	return n == 1 ? done.op_context : NULL;
}

/* finish makes progress until the operation with this context has ended. */
static void finish(void *ctx)
{
	double until = 0;
	unsigned long polls;
	void *got;

	for (polls = 1; (got = progress()) != ctx; polls++) {
		if (got)
			die("a completion with an unknown context", -FI_EOTHER);
		if (polls % 100000)
			continue;
		if (!until)
			until = now() + PATIENCE;
		else if (now() > until)
			die("an operation does not end", -FI_ETIMEDOUT);
	}
}

static void join(int n)
{
	struct fi_av_set_attr attr = {.start_addr = 0, .end_addr = n - 1, .stride = 1};
	struct fid_av_set *set;
	struct fi_eq_entry entry;
	fi_addr_t all;
	uint32_t event;
	ssize_t got;

	must("fi_av_set", fi_av_set(av, &attr, &set, NULL));
	must("fi_av_set_addr", fi_av_set_addr(set, &all));
	must("fi_join_collective", fi_join_collective(ep, all, set, 0, &mc, NULL));
	do {
		progress();
		got = fi_eq_read(eq, &event, &entry, sizeof entry, 0);
		if (got < 0 && got != -FI_EAGAIN)
			die("fi_eq_read", got);
	} while (got < 0 || event != FI_JOIN_COMPLETE);
}

static void fetch_add(void)
{
	static struct fi_context2 ctx;
	ssize_t err;

	while ((err = fi_fetch_atomic(ep, buf, 1, fi_mr_desc(mr), result, fi_mr_desc(result_mr), members[1], far_base, far_key, FI_UINT64, FI_SUM, &ctx)) == -FI_EAGAIN)
		progress();
	must("fi_fetch_atomic", err);
	finish(&ctx);
}

static void allreduce(void)
{
	static struct fi_context2 ctx;
	ssize_t err;

	while ((err = fi_allreduce(ep, buf, bytes / 8, NULL, result, NULL, fi_mc_addr(mc), FI_DOUBLE, FI_SUM, 0, &ctx)) == -FI_EAGAIN)
		progress();
	must("fi_allreduce", err);
	finish(&ctx);
}

/* check compares the result of the last operation. Every member made its numbers from its rank. */
static void check(int n)
{
	double sum = 0, got;
	size_t i;
	int r;

	for (i = 0; i < bytes; i += 8) {
		for (sum = 0, r = 0; r < n; r++)
			sum += r + (double)(i % 1000);
		memcpy(&got, result + i, 8);
		if (got != sum) {
			fprintf(stderr, "member: number %zu is %g, want %g\n", i / 8, got, sum);
			status = 3;
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	int collective, rank, n;
	long i, warmup, iters;
	double begin = 0, v;
	char limit[32];
	size_t k;

	if (argc != 8)
		return 2;
	collective = !strcmp(argv[1], "allreduce");
	rank = atoi(argv[3]);
	n = atoi(argv[4]);
	bytes = strtoul(argv[5], NULL, 0) / 8 * 8;
	warmup = atol(argv[6]);
	iters = atol(argv[7]);
	if (n < 2 || n > MAXMEMBERS || bytes < 8 || iters < 1)
		return 2;
	buf = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	result = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	memset(buf, 0, bytes);
	memset(result, 0, bytes);
	for (k = 0; collective && k < bytes; k += 8) {
		v = rank + (double)(k % 1000);
		memcpy(buf + k, &v, 8);
	}
	setvbuf(stdin, NULL, _IONBF, 0);
	if (collective && bytes > EAGER) {
		snprintf(limit, sizeof limit, "%zu", bytes);
		setenv("FI_OFI_RXM_BUFFER_SIZE", limit, 0);
		setenv("FI_OFI_RXM_MSG_RX_SIZE", "64", 0);
	}
	open_endpoint(argv[2], collective);
	meet(n, rank);
	if (collective)
		join(n);
	for (i = 0; i < warmup + iters && (collective || rank == 0); i++) {
		if (i == warmup)
			begin = now();
		if (collective)
			allreduce();
		else
			fetch_add();
	}
	if (rank == 0)
		printf("- { usec/xfer: %.6f }\n", (now() - begin) / iters);
	fflush(stdout);
	if (collective)
		check(n);
	leaving = 1;
	for (i = 1; i % 10000 || !poll(&in, 1, 0); i++) /* other members may need the progress of this one */
		progress();
	return status;
}
