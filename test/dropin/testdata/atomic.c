// Atomic operations (fi_atomic(3)): update, fetch and compare with several datatypes; vectors; which operations are
// supported.
#include "pair.h"

static struct fi_context2 ctx[4];
static uint64_t memory[64];
static uint64_t base, key;

static void queries(void)
{
	struct fi_atomic_attr attr;
	size_t count = 0;
	OK(fi_query_atomic(a.domain, FI_UINT64, FI_SUM, &attr, 0));
	EQUAL(attr.size, 8);
	IS(attr.count >= 1);
	OK(fi_atomicvalid(a.ep, FI_UINT64, FI_SUM, &count));
	EQUAL(count, attr.count);
	OK(fi_fetch_atomicvalid(a.ep, FI_INT32, FI_MAX, &count));
	OK(fi_compare_atomicvalid(a.ep, FI_UINT8, FI_CSWAP, &count));
	IS(fi_atomicvalid(a.ep, FI_UINT64, FI_CSWAP, &count) < 0);
	FAILS(fi_query_atomic(a.domain, 9999, FI_SUM, &attr, 0), FI_EOPNOTSUPP);
}

static void update(void)
{
	uint64_t add[4] = {1, 2, 3, 4};
	for (int i = 0; i < 4; i++)
		memory[i] = 100 * i;
	POST(fi_atomic(a.ep, add, 4, NULL, a.peer, base, key, FI_UINT64, FI_SUM, &ctx[0]));
	struct fi_cq_tagged_entry e = completion(&a, &ctx[0], NULL);
	IS(e.flags & FI_ATOMIC);
	POST(fi_inject_atomic(a.ep, add, 2, a.peer, base, key, FI_UINT64, FI_SUM));
	struct fi_ioc ioc[] = {{add, 1}, {add + 1, 3}};
	POST(fi_atomicv(a.ep, ioc, NULL, 2, a.peer, base, key, FI_UINT64, FI_BXOR, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	uint64_t got[4] = {0}, none[4] = {0};
	POST(fi_fetch_atomic(a.ep, none, 4, NULL, got, NULL, a.peer, base, key, FI_UINT64, FI_ATOMIC_READ, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	uint64_t want[4] = {(0 + 1 + 1) ^ 1, (100 + 2 + 2) ^ 2, (200 + 3) ^ 3, (300 + 4) ^ 4};
	for (int i = 0; i < 4; i++) {
		EQUAL(got[i], want[i]);
		EQUAL(memory[i], want[i]);
	}
}

static void fetch(void)
{
	double values[2] = {1.5, -2.5}, most[2] = {1.0, 7.25}, before[2] = {0};
	memcpy(memory, values, sizeof values);
	POST(fi_fetch_atomic(a.ep, most, 2, NULL, before, NULL, a.peer, base, key, FI_DOUBLE, FI_MAX, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	IS(!memcmp(before, values, sizeof values));
	memcpy(values, memory, sizeof values);
	IS(values[0] == 1.5 && values[1] == 7.25);

	int8_t *bytes = (int8_t *)memory, less[3] = {-5, 5, -128}, old[3];
	bytes[0] = 0, bytes[1] = 3, bytes[2] = 127;
	struct fi_ioc op = {less, 3}, res = {old, 3};
	struct fi_rma_ioc target = {base, 3, key};
	struct fi_msg_atomic m = {.msg_iov = &op, .iov_count = 1, .addr = a.peer, .rma_iov = &target, .rma_iov_count = 1,
		.datatype = FI_INT8, .op = FI_MIN,
		.context = &ctx[1]};
	POST(fi_fetch_atomicmsg(a.ep, &m, &res, NULL, 1, FI_COMPLETION));
	completion(&a, &ctx[1], NULL);
	IS(old[0] == 0 && old[1] == 3 && old[2] == 127);
	IS(bytes[0] == -5 && bytes[1] == 3 && bytes[2] == -128);
	m.op = FI_ATOMIC_WRITE;
	less[0] = less[1] = less[2] = 9;
	POST(fi_atomicmsg(a.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	completion(&a, &ctx[1], NULL);
	IS(bytes[0] == 9 && bytes[1] == 9 && bytes[2] == 9);
}

static void compare(void)
{
	uint32_t *words = (uint32_t *)memory, swap = 7, want = 1, old = 0;
	words[0] = 1;
	POST(fi_compare_atomic(a.ep, &swap, 1, NULL, &want, NULL, &old, NULL, a.peer, base,
		key, FI_UINT32, FI_CSWAP, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	EQUAL(old, 1);
	EQUAL(words[0], 7);
	swap = 8; // the value has changed since
	POST(fi_compare_atomic(a.ep, &swap, 1, NULL, &want, NULL, &old, NULL, a.peer, base,
		key, FI_UINT32, FI_CSWAP, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	EQUAL(old, 7);
	EQUAL(words[0], 7);
	struct fi_ioc op = {&swap, 1}, cmp = {&want, 1}, res = {&old, 1};
	POST(fi_compare_atomicv(a.ep, &op, NULL, 1, &cmp, NULL, 1, &res, NULL, 1, a.peer, base, key,
		FI_UINT32, FI_CSWAP_NE, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	EQUAL(old, 7);
	EQUAL(words[0], 8);
}

int main(int argc, char **argv)
{
	struct fid_mr *mr;
	begin(argc, argv);
	options.caps = FI_MSG | FI_ATOMIC;
	pair_open();
	OK(fi_mr_reg(b.domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5, 0, &mr, NULL));
	key = fi_mr_key(mr);
	base = b.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
	queries();
	update();
	fetch();
	compare();
	OK(fi_close(&mr->fid));
	pair_close();
	return 0;
}
