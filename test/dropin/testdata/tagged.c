// Tagged messages (fi_tagged(3)): matching, ignored bits, unexpected messages, peek, claim and discard, all calls.
#include "pair.h"

static char out[65536], in[65536];
static struct fi_context2 ctx[8];

static void matching(void)
{
	fill(out, 64, 1);
	POST(fi_trecv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, 7, 0, &ctx[0]));
	POST(fi_trecv(b.ep, in + 64, 64, NULL, FI_ADDR_UNSPEC, 0x100, 0xff, &ctx[1]));
	POST(fi_tsend(a.ep, out, 64, NULL, a.peer, 0x142, &ctx[2]));
	POST(fi_tsenddata(a.ep, out, 10, NULL, 99, a.peer, 7, &ctx[3]));
	struct fi_cq_tagged_entry e = completion(&b, &ctx[1], NULL);
	EQUAL(e.tag, 0x142);
	EQUAL(e.len, 64);
	EQUAL(e.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
	e = completion(&b, &ctx[0], NULL);
	EQUAL(e.tag, 7);
	EQUAL(e.len, 10);
	EQUAL(e.data, 99);
	IS(e.flags & FI_REMOTE_CQ_DATA);
	same(in, 10, 1);
	same(in + 64, 64, 1);
	completion(&a, &ctx[2], NULL);
	completion(&a, &ctx[3], NULL);
}

static void vectors(void)
{
	struct iovec from[] = {{out, 100}, {out + 100, 20000}}, to[] = {{in, 7000}, {in + 7000, 20000}};
	struct fi_msg_tagged s = {.msg_iov = from, .iov_count = 2, .addr = a.peer, .tag = 3, .context = &ctx[1], .data = 5};
	struct fi_msg_tagged r = {.msg_iov = to, .iov_count = 2, .addr = FI_ADDR_UNSPEC, .tag = 3, .context = &ctx[0]};
	fill(out, 20100, 2);
	for (int i = 0; i < 2; i++) {
		memset(in, 0, sizeof in);
		if (i)
			POST(fi_trecvmsg(b.ep, &r, FI_COMPLETION));
		else
			POST(fi_trecvv(b.ep, to, NULL, 2, FI_ADDR_UNSPEC, 3, 0, &ctx[0]));
		if (i)
			POST(fi_tsendmsg(a.ep, &s, FI_COMPLETION | FI_REMOTE_CQ_DATA));
		else
			POST(fi_tsendv(a.ep, from, NULL, 2, a.peer, 3, &ctx[1]));
		struct fi_cq_tagged_entry e = completion(&b, &ctx[0], NULL);
		EQUAL(e.len, 20100);
		EQUAL(e.data, i ? 5 : 0);
		same(in, 20100, 2);
		completion(&a, &ctx[1], NULL);
	}
}

// unexpected sends messages before their receives are posted.
static void unexpected(void)
{
	fill(out, 30000, 4);
	POST(fi_tinject(a.ep, out, 16, a.peer, 1));
	POST(fi_tinjectdata(a.ep, out, 16, 11, a.peer, 2));
	POST(fi_tsend(a.ep, out, 30000, NULL, a.peer, 3, &ctx[1]));
	for (int i = 0; i < 100; i++)
		progress(__FILE__, __LINE__);
	for (int tag = 3; tag > 0; tag--) {
		memset(in, 0, sizeof in);
		POST(fi_trecv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, tag, 0, &ctx[0]));
		struct fi_cq_tagged_entry e = completion(&b, &ctx[0], NULL);
		EQUAL(e.tag, tag);
		EQUAL(e.len, tag == 3 ? 30000 : 16);
		EQUAL(e.data, tag == 2 ? 11 : 0);
		same(in, e.len, 4);
	}
	completion(&a, &ctx[1], NULL);
}

static int peek(uint64_t tag, uint64_t flags, void *context, struct fi_cq_tagged_entry *e)
{
	struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};
	struct fi_cq_tagged_entry got;
	OK(fi_trecvmsg(b.ep, &m, FI_PEEK | FI_COMPLETION | flags));
	for (;;) {
		ssize_t n = fi_cq_read(b.cq, &got, 1);
		if (n == 1) {
			IS(got.op_context == context);
			*e = got;
			return 1;
		}
		if (n == -FI_EAVAIL) {
			struct fi_cq_err_entry err = {0};
			OK(fi_cq_readerr(b.cq, &err, 0));
			EQUAL(err.err, FI_ENOMSG);
			IS(err.op_context == context);
			return 0;
		}
		EQUAL(n, -FI_EAGAIN);
	}
}

static void peeking(void)
{
	struct fi_cq_tagged_entry e;
	IS(!peek(50, 0, &ctx[0], &e));
	POST(fi_tinject(a.ep, out, 24, a.peer, 50));
	uint64_t end = now_ms() + 5000;
	while (!peek(50, 0, &ctx[0], &e))
		IS(now_ms() < end);
	EQUAL(e.len, 24);
	EQUAL(e.tag, 50);
	IS(peek(50, FI_CLAIM, &ctx[0], &e));
	IS(!peek(50, 0, &ctx[1], &e)); // the message is claimed
	struct iovec iov = {in, 24};
	struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 50, .context = &ctx[0]};
	memset(in, 0, 24);
	POST(fi_trecvmsg(b.ep, &m, FI_CLAIM));
	EQUAL(completion(&b, &ctx[0], NULL).len, 24);
	same(in, 24, 4);
	POST(fi_tinject(a.ep, out, 24, a.peer, 51));
	while (!peek(51, FI_DISCARD, &ctx[0], &e))
		IS(now_ms() < end);
	IS(!peek(51, 0, &ctx[0], &e));
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.caps = FI_TAGGED;
	pair_open();
	matching();
	vectors();
	unexpected();
	peeking();
	pair_close();
	return 0;
}
