/*
 * The native end of the interop tests: one libfabric endpoint. It reads commands from its standard input, and exits
 * when that closes.
 *
 *     peer PROVIDER msg|rdm [PORT]
 *     peer -probe PROVIDER msg|rdm         exits with 0 if there is such an endpoint
 *
 * It listens at a port of 127.0.0.1, or has that address. It has three buffers: tx, rx and mem. Peers may access mem:
 * all of it with key 7, its second half with key 8, and all of it read-only with key 9 (offset addressing). The answer
 * to each command is one line, "ok [value]" or "fail reason". The commands are:
 *
 *     name                                 the port
 *     connect PORT DATA                    fi_connect; DATA is private data in hexadecimal, "-" if empty
 *     accept DATA | reject DATA            the latest connection request
 *     shutdown | close                     the endpoint
 *     insert PORT                          into the address vector; transfers use the last one inserted
 *     fill|check BUF OFF LEN SEED          with the pattern of SEED
 *     set BUF OFF DATA | get BUF OFF LEN   at most 256 bytes in hexadecimal
 *     counts                               completed sends, receives, reads, writes, and peers' reads and
 *                                          writes (of RDM endpoints)
 *     post CALL CTX OFF LEN PARTS FLAGS DATA TAG [ADDR:LEN:KEY]...
 *                                          CALL without "fi_"; sends and writes use tx, others rx; PARTS is the
 *                                          length of the iov
 *
 * CALL may also be atomic, fetch or compare (fi_atomicmsg, fi_fetch_atomicmsg, fi_compare_atomicmsg). Then LEN and the
 * lengths of segments are numbers of operands, DATA is the datatype * 256 + the operation, and TAG is the size of an
 * operand in bytes. The comparands are COMPARANDS bytes behind the operands, and results go into rx.
 *
 * Numbers have the format of strtoull. At any time, the peer prints lines about completions and events:
 *
 *     cq CTX FLAGS LEN DATA TAG ERR TEXT   ERR is 0 and TEXT empty for success
 *     eq connreq|connected|shutdown|error ERR DATA
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define BUFSIZE (4u << 20)
#define MAXDATA 256
#define MAXARGS 24
#define MAXIOV 4
#define COMPARANDS 65536
#define SECONDS 5 /* time limit for repeated attempts of a command */

static struct fi_info *info, *request;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_eq *eq;
static struct fid_av *av;
static struct fid_pep *pep;
static struct fid_ep *ep;
static fi_addr_t dest = FI_ADDR_UNSPEC;
static struct fid_cntr *cntrs[6]; /* in the order of counted */
static const uint64_t counted[6] = {FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
static int is_msg, counts;
static int busy; /* rounds of the main loop that do not sleep */

static unsigned char tx[BUFSIZE], rx[BUFSIZE], mem[BUFSIZE];

static void die(const char *what, long err)
{
	fprintf(stderr, "peer: %s: %s (%ld)\n", what, fi_strerror((int)labs(err)), err);
	exit(1);
}

static void must(const char *what, long err)
{
	if (err)
		die(what, err);
}

/* Answers to commands. */

static void answer(const char *what, long err)
{
	if (err)
		printf("fail %s: %s\n", what, fi_strerror((int)labs(err)));
	else
		printf("ok\n");
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

static void print_hex(const unsigned char *b, size_t n)
{
	if (n == 0)
		putchar('-');
	for (; n; n--)
		printf("%02x", *b++);
}

static size_t parse_hex(const char *s, unsigned char *b)
{
	size_t n = 0;
	unsigned v;

	while (n < MAXDATA && sscanf(s, "%2x", &v) == 1) {
		b[n++] = (unsigned char)v;
		s += 2;
	}
	return n;
}

/* Buffers: xorshift64 from the seed, eight little-endian bytes at a time, the rest one byte at a time. */

static uint64_t next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Fills b, or returns the first offset that differs from the pattern, -1 if there is none. */
static long pattern(unsigned char *b, size_t n, uint64_t seed, int fill)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
	size_t i, k, step;

	for (i = 0; i < n; i += step) {
		x = next(x);
		step = n - i >= 8 ? 8 : 1;
		for (k = 0; k < step; k++) {
			unsigned char v = (unsigned char)(x >> (8 * k));
			if (fill)
				b[i + k] = v;
			else if (b[i + k] != v)
				return (long)(i + k);
		}
	}
	return -1;
}

static unsigned char *buffer(const char *name)
{
	if (!strcmp(name, "tx"))
		return tx;
	return strcmp(name, "rx") ? mem : rx;
}

/* Events. */

static void progress_cq(void)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err;
	ssize_t n;

	while ((n = fi_cq_read(cq, &e, 1)) != -FI_EAGAIN) {
		busy = 1000;
		if (n == 1) {
			printf("cq %llu %#llx %zu %#llx %#llx 0\n", (unsigned long long)(uintptr_t)e.op_context,
				(unsigned long long)e.flags, e.len,
			       (unsigned long long)e.data, (unsigned long long)e.tag);
			continue;
		}
		if (n != -FI_EAVAIL)
			die("fi_cq_read", n);
		memset(&err, 0, sizeof err);
		n = fi_cq_readerr(cq, &err, 0);
		if (n != 1)
			die("fi_cq_readerr", n);
		printf("cq %llu %#llx %zu %#llx %#llx %d %s\n", (unsigned long long)(uintptr_t)err.op_context,
			(unsigned long long)err.flags, err.len,
		       (unsigned long long)err.data, (unsigned long long)err.tag, err.err, fi_strerror(err.err));
	}
}

static void print_event(const char *name, int err, const void *data, size_t n)
{
	printf("eq %s %d ", name, err);
	print_hex(data, n);
	putchar('\n');
}

static void progress_eq(void)
{
	unsigned char room[sizeof(struct fi_eq_cm_entry) + MAXDATA], data[MAXDATA];
	struct fi_eq_cm_entry *e = (struct fi_eq_cm_entry *)room;
	struct fi_eq_err_entry err;
	uint32_t event;
	ssize_t n;

	while (eq && (n = fi_eq_read(eq, &event, room, sizeof room, 0)) != -FI_EAGAIN) {
		busy = 1000;
		if (n == -FI_EAVAIL) {
			memset(&err, 0, sizeof err);
			err.err_data = data;
			err.err_data_size = sizeof data;
			n = fi_eq_readerr(eq, &err, 0);
			if (n < 0)
				die("fi_eq_readerr", n);
			print_event("error", err.err, err.err_data, err.err_data_size);
			continue;
		}
		if (n < (ssize_t)sizeof *e)
			die("fi_eq_read", n);
		if (event == FI_CONNREQ) {
			if (request)
				fi_freeinfo(request);
			request = e->info;
		}
		print_event(event == FI_CONNREQ ? "connreq" : event == FI_CONNECTED ? "connected" : "shutdown",
			0, e->data, (size_t)n - sizeof *e);
	}
}

static void progress(void)
{
	progress_cq();
	progress_eq();
}

/* Opening. */

static void reg(void *b, size_t n, uint64_t access, uint64_t key)
{
	struct fid_mr *mr;

	must("fi_mr_reg", fi_mr_reg(domain, b, n, access, 0, key, 0, &mr, NULL));
	if (fi_mr_key(mr) != key)
		die("the key is not the one asked for", FI_EOTHER);
}

static void open_ep(struct fi_info *i)
{
	must("fi_endpoint", fi_endpoint(domain, i, &ep, NULL));
	must("fi_ep_bind cq", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	if (is_msg)
		must("fi_ep_bind eq", fi_ep_bind(ep, &eq->fid, 0));
	else
		must("fi_ep_bind av", fi_ep_bind(ep, &av->fid, 0));
	for (int k = 0; counts && k < 6; k++)
		must("fi_ep_bind cntr", fi_ep_bind(ep, &cntrs[k]->fid, counted[k]));
	must("fi_enable", fi_enable(ep));
}

static void open_all(char *provider, char *port)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av_attr = {.type = FI_AV_UNSPEC};

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = is_msg ? FI_EP_MSG : FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA | (is_msg ? 0 : FI_TAGGED);
	if ((counts = strstr(provider, "rxd") != NULL))
		hints->caps |= FI_ATOMICS | FI_RMA_EVENT;
	if (strstr(provider, "rxm"))
		hints->caps |= FI_ATOMICS;
	hints->addr_format = FI_SOCKADDR_IN;
	must("fi_getinfo", fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
		"127.0.0.1", port, FI_SOURCE, hints, &info));
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	for (int k = 0; counts && k < 6; k++)
		must("fi_cntr_open", fi_cntr_open(domain, &cntr_attr, &cntrs[k], NULL));
	reg(mem, BUFSIZE, FI_REMOTE_READ | FI_REMOTE_WRITE, 7);
	reg(mem + BUFSIZE / 2, BUFSIZE / 2, FI_REMOTE_READ | FI_REMOTE_WRITE, 8);
	reg(mem, BUFSIZE, FI_REMOTE_READ, 9);
	if (is_msg) {
		must("fi_eq_open", fi_eq_open(fabric, &eq_attr, &eq, NULL));
		must("fi_passive_ep", fi_passive_ep(fabric, info, &pep, NULL));
		must("fi_pep_bind", fi_pep_bind(pep, &eq->fid, 0));
		must("fi_listen", fi_listen(pep));
	} else {
		must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
		open_ep(info);
	}
	fi_freeinfo(hints);
}

/* Commands. */

static struct sockaddr_in local(const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return a;
}

static void do_name(void)
{
	struct sockaddr_in a;
	size_t n = sizeof a;

	must("fi_getname", fi_getname(is_msg ? &pep->fid : &ep->fid, &a, &n));
	printf("ok %u\n", ntohs(a.sin_port));
}

static void do_insert(const char *port)
{
	struct sockaddr_in a = local(port);
	int n = fi_av_insert(av, &a, 1, &dest, 0, NULL);

	answer("fi_av_insert", n == 1 ? 0 : n < 0 ? n : FI_EINVAL);
}

static void do_cm(const char *how, const char *port, const char *hex)
{
	struct sockaddr_in a = local(port);
	unsigned char data[MAXDATA];
	size_t n = parse_hex(hex, data);

	if (!strcmp(how, "connect")) {
		open_ep(info);
		answer(how, fi_connect(ep, &a, n ? data : NULL, n));
	} else if (!request) {
		answer("no connection request", FI_ENOENT);
	} else if (!strcmp(how, "accept")) {
		open_ep(request);
		answer(how, fi_accept(ep, n ? data : NULL, n));
	} else {
		answer(how, fi_reject(pep, request->handle, n ? data : NULL, n));
	}
}

static int starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static size_t split(struct iovec *iov, unsigned char *b, size_t len, size_t parts)
{
	size_t i, step = len / parts;

	for (i = 0; i < parts; i++) {
		iov[i].iov_base = b + i * step;
		iov[i].iov_len = i + 1 < parts ? step : len - i * step;
	}
	return parts;
}

/* One attempt of an atomic operation. */
static ssize_t atomically(const char *call, char **a, struct fi_rma_iov *rma, size_t nrma)
{
	size_t off = number(a[1]), count = number(a[2]), size = number(a[6]), i;
	struct fi_ioc ioc = {tx + off, count}, comp = {tx + off + COMPARANDS, count}, result = {rx + off, count};
	struct fi_rma_ioc rioc[MAXIOV];
	struct fi_msg_atomic msg = {.msg_iov = &ioc, .iov_count = 1, .addr = dest, .rma_iov = rioc, .rma_iov_count = nrma,
		.datatype = (enum fi_datatype)(number(a[5]) >> 8),
				    .op = (enum fi_op)(number(a[5]) & 255), .context = (void *)(uintptr_t)number(a[0])};

	if (off > COMPARANDS || count * size > COMPARANDS)
		return -FI_EINVAL;
	for (i = 0; i < nrma; i++) {
		rioc[i].addr = rma[i].addr;
		rioc[i].count = rma[i].len;
		rioc[i].key = rma[i].key;
	}
	if (!strcmp(call, "atomic"))
		return fi_atomicmsg(ep, &msg, number(a[4]));
	if (!strcmp(call, "fetch"))
		return fi_fetch_atomicmsg(ep, &msg, &result, NULL, 1, number(a[4]));
	return fi_compare_atomicmsg(ep, &msg, &comp, NULL, 1, &result, NULL, 1, number(a[4]));
}

/* One attempt of a transfer. a has the fields from CTX to TAG. */
static ssize_t transfer(const char *call, char **a, struct fi_rma_iov *rma, size_t nrma)
{
	void *ctx = (void *)(uintptr_t)number(a[0]);
	size_t len = number(a[2]);
	uint64_t flags = number(a[4]), data = number(a[5]), tag = number(a[6]);
	int into = strstr(call, "recv") || starts(call, "read");
	unsigned char *b = (into ? rx : tx) + number(a[1]);
	struct iovec iov[MAXIOV];
	size_t parts = split(iov, b, len, number(a[3]));
	struct fi_msg msg = {iov, NULL, parts, dest, ctx, data};
	struct fi_msg_tagged tmsg = {iov, NULL, parts, dest, tag, 0, ctx, data};
	struct fi_msg_rma rmsg = {iov, NULL, parts, dest, rma, nrma, ctx, data};

	if (!strcmp(call, "recv"))
		return fi_recv(ep, b, len, NULL, FI_ADDR_UNSPEC, ctx);
	if (!strcmp(call, "trecv"))
		return fi_trecv(ep, b, len, NULL, FI_ADDR_UNSPEC, tag, 0, ctx);
	if (!strcmp(call, "send"))
		return fi_send(ep, b, len, NULL, dest, ctx);
	if (!strcmp(call, "sendv"))
		return fi_sendv(ep, iov, NULL, parts, dest, ctx);
	if (!strcmp(call, "sendmsg"))
		return fi_sendmsg(ep, &msg, flags);
	if (!strcmp(call, "senddata"))
		return fi_senddata(ep, b, len, NULL, data, dest, ctx);
	if (!strcmp(call, "inject"))
		return fi_inject(ep, b, len, dest);
	if (!strcmp(call, "injectdata"))
		return fi_injectdata(ep, b, len, data, dest);
	if (!strcmp(call, "tsend"))
		return fi_tsend(ep, b, len, NULL, dest, tag, ctx);
	if (!strcmp(call, "tsendv"))
		return fi_tsendv(ep, iov, NULL, parts, dest, tag, ctx);
	if (!strcmp(call, "tsendmsg"))
		return fi_tsendmsg(ep, &tmsg, flags);
	if (!strcmp(call, "tsenddata"))
		return fi_tsenddata(ep, b, len, NULL, data, dest, tag, ctx);
	if (!strcmp(call, "tinject"))
		return fi_tinject(ep, b, len, dest, tag);
	if (!strcmp(call, "tinjectdata"))
		return fi_tinjectdata(ep, b, len, data, dest, tag);
	if (!nrma)
		return -FI_ENOSYS;
	if (!strcmp(call, "atomic") || !strcmp(call, "fetch") || !strcmp(call, "compare"))
		return atomically(call, a, rma, nrma);
	if (!strcmp(call, "write"))
		return fi_write(ep, b, len, NULL, dest, rma->addr, rma->key, ctx);
	if (!strcmp(call, "writev"))
		return fi_writev(ep, iov, NULL, parts, dest, rma->addr, rma->key, ctx);
	if (!strcmp(call, "writemsg"))
		return fi_writemsg(ep, &rmsg, flags);
	if (!strcmp(call, "writedata"))
		return fi_writedata(ep, b, len, NULL, data, dest, rma->addr, rma->key, ctx);
	if (!strcmp(call, "inject_write"))
		return fi_inject_write(ep, b, len, dest, rma->addr, rma->key);
	if (!strcmp(call, "inject_writedata"))
		return fi_inject_writedata(ep, b, len, data, dest, rma->addr, rma->key);
	if (!strcmp(call, "read"))
		return fi_read(ep, b, len, NULL, dest, rma->addr, rma->key, ctx);
	if (!strcmp(call, "readv"))
		return fi_readv(ep, iov, NULL, parts, dest, rma->addr, rma->key, ctx);
	if (!strcmp(call, "readmsg"))
		return fi_readmsg(ep, &rmsg, flags);
	return -FI_ENOSYS;
}

static void do_post(char **a, int n)
{
	struct fi_rma_iov rma[MAXIOV];
	size_t nrma = 0;
	time_t end = time(NULL) + SECONDS;
	ssize_t ret;

	if (!ep || number(a[5]) < 1 || number(a[5]) > MAXIOV || number(a[3]) + number(a[4]) > BUFSIZE) {
		answer("post", FI_EINVAL);
		return;
	}
	for (; nrma < MAXIOV && 9 + (int)nrma < n; nrma++) {
		char *p = a[9 + nrma];

		rma[nrma].addr = strtoull(p, &p, 0);
		rma[nrma].len = strtoull(p + 1, &p, 0);
		rma[nrma].key = strtoull(p + 1, &p, 0);
	}
	while ((ret = transfer(a[1], a + 2, rma, nrma)) == -FI_EAGAIN && time(NULL) < end)
		progress();
	answer(a[1], ret);
}

static void do_buffer(char **a)
{
	uint64_t off = number(a[2]), len = number(a[3]);
	long at;

	if (off > BUFSIZE || len > BUFSIZE - off) {
		answer(a[0], FI_EINVAL);
		return;
	}
	at = pattern(buffer(a[1]) + off, len, number(a[4]), a[0][0] == 'f');
	if (at >= 0)
		printf("fail %s differs from byte %ld of %llu on\n", a[1], at, (unsigned long long)len);
	else
		printf("ok\n");
}

static void do_bytes(char **a)
{
	uint64_t off = number(a[2]), len = a[0][0] == 'g' ? number(a[3]) : strlen(a[3]) / 2;
	unsigned char *b = buffer(a[1]) + off;

	if (off > BUFSIZE - MAXDATA || len > MAXDATA) {
		answer(a[0], FI_EINVAL);
		return;
	}
	printf("ok ");
	if (a[0][0] == 'g')
		print_hex(b, len);
	else
		parse_hex(a[3], b);
	putchar('\n');
}

static void do_counts(void)
{
	printf("ok");
	for (int k = 0; counts && k < 6; k++)
		printf(" %llu", (unsigned long long)fi_cntr_read(cntrs[k]));
	putchar('\n');
}

static void command(char **a, int n)
{
	if (n == 1 && !strcmp(a[0], "name"))
		do_name();
	else if (n == 2 && !strcmp(a[0], "insert"))
		do_insert(a[1]);
	else if (n == 3 && !strcmp(a[0], "connect"))
		do_cm(a[0], a[1], a[2]);
	else if (n == 2 && (!strcmp(a[0], "accept") || !strcmp(a[0], "reject")))
		do_cm(a[0], "0", a[1]);
	else if (n == 1 && ep && !strcmp(a[0], "shutdown"))
		answer(a[0], fi_shutdown(ep, 0));
	else if (n == 1 && ep && !strcmp(a[0], "close")) {
		answer(a[0], fi_close(&ep->fid));
		ep = NULL;
	} else if (n == 5 && (!strcmp(a[0], "fill") || !strcmp(a[0], "check")))
		do_buffer(a);
	else if (n == 4 && (!strcmp(a[0], "set") || !strcmp(a[0], "get")))
		do_bytes(a);
	else if (n == 1 && !strcmp(a[0], "counts"))
		do_counts();
	else if (n >= 9 && !strcmp(a[0], "post"))
		do_post(a, n);
	else
		printf("fail unknown command\n");
}

/* Reads from standard input without blocking, and executes complete lines. Returns 0 at the end of the input. */
static int input(void)
{
	static char line[8192];
	static size_t have;
	char *args[MAXARGS], *end, *save;
	int n;
	ssize_t got = read(STDIN_FILENO, line + have, sizeof line - 1 - have);

	if (got <= 0)
		return got < 0 && errno == EINTR;
	have += (size_t)got;
	line[have] = 0;
	while ((end = strchr(line, '\n'))) {
		*end = 0;
		n = 0;
		for (char *s = strtok_r(line, " ", &save); s && n < MAXARGS; s = strtok_r(NULL, " ", &save))
			args[n++] = s;
		if (n)
			command(args, n);
		have -= (size_t)(end + 1 - line);
		memmove(line, end + 1, have + 1);
	}
	return have < sizeof line - 1;
}

/*
 * Also replaces fopen in libfabric. When libfabric is loaded, its verbs provider searches the names of all kernel
 * functions, whichever provider is requested (vrb_os_mem_support). That takes a tenth of a second of a processor in
 * each peer.
 */
FILE *fopen(const char *path, const char *mode)
{
	FILE *(*libc)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");

	if (strcmp(path, "/proc/kallsyms"))
		return libc(path, mode);
	errno = ENOENT;
	return NULL;
}

int main(int argc, char **argv)
{
	struct pollfd in = {STDIN_FILENO, POLLIN, 0};

	int probe = argc > 1 && !strcmp(argv[1], "-probe");

	argv += probe;
	argc -= probe;
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: peer [-probe] PROVIDER msg|rdm [PORT]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	is_msg = !strcmp(argv[2], "msg");
	open_all(argv[1], argc == 4 ? argv[3] : NULL);
	if (probe)
		return 0;
	for (;;) {
		int n = poll(&in, 1, busy > 0 ? 0 : 1);

		if (n > 0) {
			busy = 1000;
			if (!input())
				return 0;
		}
		busy -= busy > 0;
		progress();
	}
}
