// The functions that pair.h declares.
#define _GNU_SOURCE
#include "pair.h"
#include <dlfcn.h>
#include <limits.h>
#include <time.h>

struct options options = {.caps = FI_MSG};
struct end a, b;

void failed(const char *file, int line, const char *what, long long got)
{
	fprintf(stderr, "%s:%d: %s: %lld", file, line, what, got);
	if (got < 0 && got > -4096)
		fprintf(stderr, " (%s)", fi_strerror((int)-got));
	fprintf(stderr, "\n");
	exit(1);
}

// mapped checks that the library under test is mapped. The loader silently takes the system's library where ours is
// missing.
static void mapped(void)
{
	const char *want = getenv("DROPIN_LIBRARY");
	char have_path[PATH_MAX], want_path[PATH_MAX];
	Dl_info info;
	if (!want || !*want)
		return;
	IS(dladdr((void *)fi_getinfo, &info));
	IS(realpath(info.dli_fname, have_path) && realpath(want, want_path));
	if (strcmp(have_path, want_path))
		failed(__FILE__, __LINE__, have_path, 0);
}

void begin(int argc, char **argv)
{
	static const struct { const char *name; enum fi_ep_type type; } types[] = {{"msg", FI_EP_MSG},
		{"rdm", FI_EP_RDM}, {"dgram", FI_EP_DGRAM}};
	mapped();
	alarm(60);
	options.provider = argc > 1 ? argv[1] : "tcp";
	for (int i = 0; i < 3; i++)
		if (argc > 2 && !strcmp(argv[2], types[i].name))
			options.type = types[i].type;
	IS(argc < 3 || options.type);
}

struct fi_info *hints_for(void)
{
	struct fi_info *h = fi_allocinfo();
	IS(h);
	h->caps = options.caps;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = options.type;
	h->domain_attr->mr_mode = options.mr_mode;
	h->domain_attr->threading = options.threading;
	h->addr_format = FI_SOCKADDR_IN;
	h->fabric_attr->prov_name = strdup(options.provider);
	if (options.more_hints)
		options.more_hints(h);
	return h;
}

void endpoint_open(struct end *e, struct fi_info *info)
{
	OK(fi_endpoint(e->domain, info, &e->ep, e));
	if (e->av)
		OK(fi_ep_bind(e->ep, &e->av->fid, 0));
	if (options.type == FI_EP_MSG)
		OK(fi_ep_bind(e->ep, &e->eq->fid, 0));
	OK(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV | options.cq_flags));
	if (options.counters) {
		struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
		uint64_t initiator = FI_SEND | (options.caps & FI_RMA ? FI_READ | FI_WRITE : 0);
		OK(fi_cntr_open(e->domain, &attr, &e->tx_cntr, NULL));
		OK(fi_cntr_open(e->domain, &attr, &e->rx_cntr, NULL));
		OK(fi_ep_bind(e->ep, &e->tx_cntr->fid, initiator));
		OK(fi_ep_bind(e->ep, &e->rx_cntr->fid, FI_RECV));
	}
	if (options.before_enable)
		options.before_enable(e);
	if (!options.disabled)
		OK(fi_enable(e->ep));
}

void end_open(struct end *e)
{
	struct fi_info *hints = hints_for();
	struct fi_eq_attr eq = {.wait_obj = FI_WAIT_UNSPEC, .flags = FI_WRITE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = options.wait_obj, .size = 256};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	OK(fi_getinfo(API, "127.0.0.1", NULL, FI_SOURCE, hints, &e->info));
	IS(!strcmp(e->info->fabric_attr->prov_name, options.provider));
	fi_freeinfo(hints);
	OK(fi_fabric(e->info->fabric_attr, &e->fabric, e));
	OK(fi_eq_open(e->fabric, &eq, &e->eq, e));
	OK(fi_domain(e->fabric, e->info, &e->domain, e));
	OK(fi_cq_open(e->domain, &cq, &e->cq, e));
	if (options.type != FI_EP_MSG) {
		OK(fi_av_open(e->domain, &av, &e->av, e));
		endpoint_open(e, e->info);
	}
}

// connect_msg connects a to a passive endpoint of b.
static void connect_msg(void)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	OK(fi_passive_ep(b.fabric, b.info, &b.pep, &b));
	OK(fi_pep_bind(b.pep, &b.eq->fid, 0));
	OK(fi_listen(b.pep));
	OK(fi_getname(&b.pep->fid, &name, &len));
	endpoint_open(&a, a.info);
	OK(fi_connect(a.ep, &name, NULL, 0));
	struct fi_eq_cm_entry *e = event(&b, FI_CONNREQ, NULL);
	struct fi_info *request = e->info;
	endpoint_open(&b, request);
	OK(fi_accept(b.ep, NULL, 0));
	event(&a, FI_CONNECTED, NULL);
	event(&b, FI_CONNECTED, NULL);
	fi_freeinfo(request);
}

static void insert(struct end *at, struct end *of)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	OK(fi_getname(&of->ep->fid, &name, &len));
	EQUAL(len, sizeof name);
	EQUAL(fi_av_insert(at->av, &name, 1, &at->peer, 0, NULL), 1);
}

void end_connect(void)
{
	if (options.type == FI_EP_MSG) {
		connect_msg();
		return;
	}
	insert(&a, &b);
	insert(&b, &a);
}

void pair_open(void)
{
	end_open(&a);
	end_open(&b);
	end_connect();
}

static void end_close(struct end *e)
{
	fid_t all[] = {(fid_t)e->ep, (fid_t)e->pep, (fid_t)e->tx_cntr, (fid_t)e->rx_cntr, (fid_t)e->cq,
		(fid_t)e->av, (fid_t)e->domain, (fid_t)e->eq,
		(fid_t)e->fabric};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i])
			OK(fi_close(all[i]));
	fi_freeinfo(e->info);
	memset(e, 0, sizeof *e);
}

void pair_close(void)
{
	end_close(&a);
	end_close(&b);
}

uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

// collect reads completions. An error entry stays in the queue until a caller waits for it.
static int collect(struct end *e)
{
	struct fi_cq_tagged_entry got[16];
	fi_addr_t from[16];
	if (!e->cq)
		return 0;
	ssize_t n = fi_cq_readfrom(e->cq, got, 16, from);
	if (n == -FI_EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	IS(e->ndone + n <= 256);
	for (ssize_t i = 0; i < n; i++) {
		e->done[e->ndone] = got[i];
		e->from[e->ndone++] = from[i];
	}
	return 0;
}

void progress(const char *file, int line)
{
	struct end *ends[] = {&a, &b};
	for (int i = 0; i < 2; i++) {
		int rc = collect(ends[i]);
		struct fi_cq_err_entry e = {0};
		if (rc == -FI_EAVAIL && fi_cq_readerr(ends[i]->cq, &e, 0) == 1)
			failed(file, line, "an operation failed", -e.err);
		if (rc)
			failed(file, line, "fi_cq_readfrom", rc);
	}
}

static int take(struct end *e, void *context, struct fi_cq_tagged_entry *out, fi_addr_t *src)
{
	for (int i = 0; i < e->ndone; i++) {
		if (e->done[i].op_context != context)
			continue;
		*out = e->done[i];
		if (src)
			*src = e->from[i];
		e->ndone--;
		memmove(e->done + i, e->done + i + 1, (e->ndone - i) * sizeof *e->done);
		memmove(e->from + i, e->from + i + 1, (e->ndone - i) * sizeof *e->from);
		return 1;
	}
	return 0;
}

struct fi_cq_tagged_entry completion(struct end *e, void *context, fi_addr_t *src)
{
	struct fi_cq_tagged_entry got;
	uint64_t end = now_ms() + 20000;
	while (!take(e, context, &got, src)) {
		if (now_ms() > end)
			failed(__FILE__, __LINE__, "no completion came", (long long)(uintptr_t)context);
		progress(__FILE__, __LINE__);
	}
	return got;
}

struct fi_cq_err_entry failure(struct end *e, void *context, int error)
{
	struct fi_cq_err_entry got = {0};
	uint64_t end = now_ms() + 20000;
	struct end *other = e == &a ? &b : &a;
	for (;;) {
		int rc = collect(e);
		if (rc == -FI_EAVAIL) {
			EQUAL(fi_cq_readerr(e->cq, &got, 0), 1);
			EQUAL(got.op_context, context);
			EQUAL(got.err, error);
			return got;
		}
		EQUAL(rc, 0);
		OK(collect(other));
		if (now_ms() > end)
			failed(__FILE__, __LINE__, "no error came", error);
	}
}

void nothing(struct end *e)
{
	progress(__FILE__, __LINE__);
	EQUAL(e->ndone, 0);
}

void *event(struct end *e, uint32_t want, size_t *len)
{
	static char buf[2][1024]; // of a and of b
	char *at = buf[e == &b];
	uint64_t end = now_ms() + 20000;
	uint32_t got = 0;
	for (;;) {
		ssize_t n = fi_eq_read(e->eq, &got, at, sizeof buf[0], 0);
		if (n > 0) {
			EQUAL(got, want);
			if (len)
				*len = n;
			return at;
		}
		if (n == -FI_EAVAIL) {
			struct fi_eq_err_entry err = {0};
			OK(fi_eq_readerr(e->eq, &err, 0));
			failed(__FILE__, __LINE__, "an event with an error", -err.err);
		}
		EQUAL(n, -FI_EAGAIN);
		progress(__FILE__, __LINE__);
		if (now_ms() > end)
			failed(__FILE__, __LINE__, "no event came", want);
	}
}

void fill(void *buf, size_t len, int seed)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(i * 31 + seed);
}

void same(const void *got, size_t len, int seed)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)got)[i] != (uint8_t)(i * 31 + seed))
			failed(__FILE__, __LINE__, "the byte at an offset is not what was sent", i);
}
