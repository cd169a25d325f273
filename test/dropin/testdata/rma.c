// Remote memory access and registrations (fi_rma(3), fi_mr(3)): all calls, with offset and virtual addressing,
// remote data, wrong keys and bounds.
#include "pair.h"

#define SIZE 100000
static char out[SIZE], in[SIZE], memory[SIZE];
static struct fi_context2 ctx[8];
static struct fid_mr *mr;
static uint64_t base, key;

static void all_calls(void)
{
	struct iovec iov[] = {{out, 100}, {out + 100, 900}}, back[] = {{in, 300}, {in + 300, 700}};
	struct fi_rma_iov target = {base + 500, 1000, key};
	struct fi_msg_rma m = {.msg_iov = iov, .iov_count = 2, .addr = a.peer, .rma_iov = &target,
		.rma_iov_count = 1, .context = &ctx[0], .data = 55};

	fill(out, SIZE, 1);
	POST(fi_write(a.ep, out, SIZE, NULL, a.peer, base, key, &ctx[0]));
	struct fi_cq_tagged_entry e = completion(&a, &ctx[0], NULL);
	EQUAL(e.flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
	POST(fi_read(a.ep, in, SIZE, NULL, a.peer, base, key, &ctx[1]));
	e = completion(&a, &ctx[1], NULL);
	EQUAL(e.flags & (FI_RMA | FI_READ), FI_RMA | FI_READ);
	same(in, SIZE, 1);
	same(memory, SIZE, 1);

	fill(out, 1000, 2);
	POST(fi_writev(a.ep, iov, NULL, 2, a.peer, base + 500, key, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	POST(fi_readv(a.ep, back, NULL, 2, a.peer, base + 500, key, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	same(in, 1000, 2);

	fill(out, 1000, 3);
	POST(fi_writemsg(a.ep, &m, FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE));
	completion(&a, &ctx[0], NULL);
	same(memory + 500, 1000, 3);
	POST(fi_recv(b.ep, in, 8, NULL, FI_ADDR_UNSPEC, &ctx[7]));
	m.msg_iov = back;
	POST(fi_readmsg(a.ep, &m, FI_COMPLETION));
	completion(&a, &ctx[0], NULL);
	same(in, 1000, 3);
}

// remote expects a completion for data that came with a write. It has no context of this end.
static void remote(uint64_t data)
{
	uint64_t end = now_ms() + 10000;
	for (;;) {
		for (int i = 0; i < b.ndone; i++)
			if (b.done[i].flags & FI_REMOTE_WRITE) {
				IS(b.done[i].flags & FI_REMOTE_CQ_DATA);
				EQUAL(b.done[i].data, data);
				b.done[i] = b.done[--b.ndone];
				return;
			}
		IS(now_ms() < end);
		progress(__FILE__, __LINE__);
	}
}

static void data(void)
{
	remote(55);
	POST(fi_writedata(a.ep, out, 100, NULL, 66, a.peer, base, key, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	remote(66);
	POST(fi_inject_writedata(a.ep, out, 10, 77, a.peer, base, key));
	remote(77);
	fill(out, 20, 9);
	POST(fi_inject_write(a.ep, out, 20, a.peer, base + 40, key));
	POST(fi_read(a.ep, in, 20, NULL, a.peer, base + 40, key, &ctx[0]));
	completion(&a, &ctx[0], NULL);
	same(in, 20, 9);
}

// refused checks that refused accesses fail and do not touch the memory or other operations: messages sent before and
// after them arrive.
static void refused(int what)
{
	struct iovec iov = {out, 200};
	struct fi_rma_iov target = {what == 0 ? base : base + SIZE - 100, 200, what == 0 ? key + 1 : key};
	struct fi_msg_rma m = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer, .rma_iov = &target,
		.rma_iov_count = 1, .context = &ctx[0]};
	memset(memory, 0, SIZE);
	POST(fi_recv(b.ep, in, 500, NULL, FI_ADDR_UNSPEC, &ctx[5]));
	POST(fi_recv(b.ep, in + 500, 500, NULL, FI_ADDR_UNSPEC, &ctx[6]));
	fill(out, 500, 4);
	POST(fi_send(a.ep, out, 500, NULL, a.peer, &ctx[3]));
	completion(&a, &ctx[3], NULL);
	if (what < 2)
		POST(fi_writemsg(a.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	else
		POST(fi_read(a.ep, in, 200, NULL, a.peer, target.addr, key, &ctx[0]));
	failure(&a, &ctx[0], what == 0 ? FI_EKEYREJECTED : FI_EACCES);
	for (int i = 0; i < SIZE; i++)
		EQUAL(memory[i], 0);
	POST(fi_send(a.ep, out, 500, NULL, a.peer, &ctx[4]));
	completion(&a, &ctx[4], NULL);
	completion(&b, &ctx[5], NULL);
	completion(&b, &ctx[6], NULL);
	same(in, 500, 4);
	same(in + 500, 500, 4);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.caps = FI_MSG | FI_RMA;
	for (int mode = 0; mode < 5; mode++) {
		options.mr_mode = mode == 1 ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY : 0;
		pair_open();
		struct fi_mr_attr attr = {0};
		struct iovec iov = {memory, SIZE};
		attr.mr_iov = &iov;
		attr.iov_count = 1;
		attr.access = FI_REMOTE_READ | FI_REMOTE_WRITE;
		attr.requested_key = 1000 + mode;
		attr.context = &attr;
		if (mode == 0)
			OK(fi_mr_regattr(b.domain, &attr, 0, &mr));
		else if (mode == 1)
			OK(fi_mr_regv(b.domain, &iov, 1, attr.access, 0, attr.requested_key, 0, &mr, &attr));
		else
			OK(fi_mr_reg(b.domain, memory, SIZE, attr.access, 0, attr.requested_key, 0, &mr, &attr));
		IS(mr->fid.context == &attr);
		key = fi_mr_key(mr);
		if (!(b.info->domain_attr->mr_mode & FI_MR_PROV_KEY))
			EQUAL(key, attr.requested_key);
		base = b.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
		if (mode < 2) {
			all_calls();
			data();
		} else
			refused(mode - 2);
		struct fid_mr *again;
		if (mode == 0)
			FAILS(fi_mr_reg(b.domain, out, 10, FI_REMOTE_READ, 0, key, 0, &again, NULL), FI_ENOKEY);
		FAILS(fi_mr_reg(b.domain, out, 0, FI_REMOTE_READ, 0, 77, 0, &again, NULL), FI_EINVAL);
		FAILS(fi_mr_reg(b.domain, NULL, 0, FI_REMOTE_READ, 0, 77, 0, &again, NULL), FI_EINVAL);
		FAILS(fi_mr_regv(b.domain, &iov, 0, FI_REMOTE_READ, 0, 77, 0, &again, NULL), FI_EINVAL);
		OK(fi_close(&mr->fid));
		pair_close();
	}
	return 0;
}
