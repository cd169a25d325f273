// Atomic operations.
#include "calls.h"

static char buf[4096], result[4096], comp[4096];
static struct fi_context2 ctx[256];
static int used;
#define CTX (&ctx[used++ % 256])

static void valid(void)
{
	size_t count = 0;
	struct fi_atomic_attr attr;
	for (int op = -1; op < 22; op++)
		for (int type = -1; type < 18; type++) {
			NAMED(fi_atomicvalid(a.ep, type, op, &count), "fi_atomicvalid, datatype %d, op %d", type, op);
			NAMED(fi_fetch_atomicvalid(a.ep, type, op, &count), "fi_fetch_atomicvalid, datatype %d, op %d", type, op);
			NAMED(fi_compare_atomicvalid(a.ep, type, op, &count),
				"fi_compare_atomicvalid, datatype %d, op %d", type, op);
			NAMED(fi_query_atomic(a.domain, type, op, &attr, 0), "fi_query_atomic, datatype %d, op %d", type, op);
		}
	CALL(fi_atomicvalid(a.ep, FI_UINT64, FI_SUM, NULL));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_CSWAP, &attr, FI_COMPARE_ATOMIC));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, FI_COMPARE_ATOMIC));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED));
	CALL(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, 1ull << 60));
}

static void post(void)
{
	struct fid_ep *ep = a.ep;
	fi_addr_t to = a.peer;
	size_t much = 1 << 20;
	struct fi_ioc ioc[16] = {{buf, 1}, {buf + 8, 1}}, res[16] = {{result, 1}, {result + 8, 1}},
		cmp[16] = {{comp, 1}, {comp + 8, 1}};
	struct fi_rma_ioc rma[16] = {{0, 1, 900}, {8, 1, 900}};
	struct fi_msg_atomic m = {.msg_iov = ioc, .iov_count = 1, .addr = to, .rma_iov = rma, .rma_iov_count = 1,
		.datatype = FI_UINT64, .op = FI_SUM};
	where = "atomic";
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	drain();
	CALL(fi_atomic(ep, buf, 0, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	drain();
	CALL(fi_atomic(ep, buf, much, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, 99, FI_SUM, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, FI_UINT64, 99, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, FI_UINT64, FI_ATOMIC_READ, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, to, 0, 900, FI_FLOAT, FI_BAND, CTX));
	CALL(fi_atomic(ep, buf, 1, NULL, 1000000, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_atomicv(ep, ioc, NULL, 2, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_atomicv(ep, ioc, NULL, 0, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_atomicv(ep, ioc, NULL, 16, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_inject_atomic(ep, buf, 1, to, 0, 900, FI_UINT64, FI_SUM));
	CALL(fi_inject_atomic(ep, buf, 100000, to, 0, 900, FI_UINT64, FI_SUM));
	drain();
	CALL(fi_fetch_atomic(ep, buf, 1, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	drain();
	CALL(fi_fetch_atomic(ep, NULL, 1, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_ATOMIC_READ, CTX));
	drain();
	CALL(fi_fetch_atomic(ep, buf, much, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_fetch_atomic(ep, buf, 1, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	CALL(fi_fetch_atomicv(ep, ioc, NULL, 2, res, NULL, 2, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_fetch_atomicv(ep, ioc, NULL, 2, res, NULL, 1, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_fetch_atomicv(ep, ioc, NULL, 0, res, NULL, 0, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	drain();
	CALL(fi_compare_atomic(ep, buf, 1, NULL, comp, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	drain();
	CALL(fi_compare_atomic(ep, buf, 1, NULL, comp, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_SUM, CTX));
	CALL(fi_compare_atomic(ep, buf, much, NULL, comp, NULL, result, NULL, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	CALL(fi_compare_atomicv(ep, ioc, NULL, 2, cmp, NULL, 2, res, NULL, 2, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	CALL(fi_compare_atomicv(ep, ioc, NULL, 2, cmp, NULL, 1, res, NULL, 2, to, 0, 900, FI_UINT64, FI_CSWAP, CTX));
	drain();
	const uint64_t flags[] = {0, FI_COMPLETION, FI_INJECT, FI_MORE, FI_REMOTE_CQ_DATA, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE, FI_FENCE, FI_TAGGED, 1ull << 61};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		m.context = CTX;
		NAMED(fi_atomicmsg(ep, &m, flags[i]), "fi_atomicmsg, flags %#llx", (unsigned long long)flags[i]);
		NAMED(fi_fetch_atomicmsg(ep, &m, res, NULL, 1, flags[i]),
			"fi_fetch_atomicmsg, flags %#llx", (unsigned long long)flags[i]);
		m.op = FI_CSWAP;
		NAMED(fi_compare_atomicmsg(ep, &m, cmp, NULL, 1, res, NULL, 1, flags[i]),
			"fi_compare_atomicmsg, flags %#llx", (unsigned long long)flags[i]);
		m.op = FI_SUM;
		drain();
	}
	m.rma_iov_count = 2;
	CALL(fi_atomicmsg(ep, &m, 0));
	m.rma_iov_count = 0;
	CALL(fi_atomicmsg(ep, &m, 0));
	drain();
}

void atomic_calls(void)
{
	static char memory[4096];
	struct fid_mr *mr = NULL;
	struct fi_info *probe = NULL;
	uint64_t before = options.caps;
	options.caps = FI_MSG | FI_ATOMIC;
	struct fi_info *h = hints_for();
	if (fi_getinfo(API, "127.0.0.1", NULL, FI_SOURCE, h, &probe))
		options.caps = before; // after that all of them fail
	fi_freeinfo(probe);
	fi_freeinfo(h);
	pair_open();
	drain();
	fi_mr_reg(b.domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 900, 0, &mr, NULL);
	where = "valid";
	valid();
	post();
}
