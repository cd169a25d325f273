// Messages (fi_msg(3)): all calls, remote data, inject, vectors, selective completion.
#include "pair.h"

static char out[1 << 20], in[1 << 20];
static struct fi_context2 ctx[8];

static void sizes(void)
{
	size_t max = options.type == FI_EP_DGRAM ? a.info->ep_attr->max_msg_size : sizeof out;
	size_t lens[] = {0, 1, 64, 1000, 16384, 100000, sizeof out};
	for (int i = 0; i < 7; i++) {
		size_t len = lens[i];
		if (len > max)
			break;
		fill(out, len, i);
		memset(in, 0, len);
		POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		POST(fi_send(a.ep, out, len, NULL, a.peer, &ctx[1]));
		struct fi_cq_tagged_entry r = completion(&b, &ctx[0], NULL), s = completion(&a, &ctx[1], NULL);
		EQUAL(r.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
		EQUAL(s.flags & (FI_SEND | FI_MSG), FI_SEND | FI_MSG);
		EQUAL(r.len, len);
		same(in, len, i);
	}
}

static void vectors(void)
{
	struct iovec from[] = {{out, 10}, {out + 10, 30}}, to[] = {{in, 25}, {in + 25, 100}};
	struct fi_msg s = {.msg_iov = from, .iov_count = 2, .addr = a.peer, .context = &ctx[1], .data = 0x1234};
	struct fi_msg r = {.msg_iov = to, .iov_count = 2, .addr = FI_ADDR_UNSPEC, .context = &ctx[0]};
	fill(out, 40, 5);
	memset(in, 0, 40);
	POST(fi_recvv(b.ep, to, NULL, 2, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_sendv(a.ep, from, NULL, 2, a.peer, &ctx[1]));
	EQUAL(completion(&b, &ctx[0], NULL).len, 40);
	completion(&a, &ctx[1], NULL);
	same(in, 40, 5);
	memset(in, 0, 40);
	POST(fi_recvmsg(b.ep, &r, FI_COMPLETION));
	POST(fi_sendmsg(a.ep, &s, FI_COMPLETION | (options.type == FI_EP_DGRAM ? 0 : FI_REMOTE_CQ_DATA)));
	struct fi_cq_tagged_entry got = completion(&b, &ctx[0], NULL);
	EQUAL(got.len, 40);
	same(in, 40, 5);
	if (options.type != FI_EP_DGRAM) {
		IS(got.flags & FI_REMOTE_CQ_DATA);
		EQUAL(got.data, 0x1234);
	}
	completion(&a, &ctx[1], NULL);
	FAILS(fi_sendv(a.ep, from, NULL, 1 << 20, a.peer, &ctx[1]), FI_EINVAL);
}

static void inject(void)
{
	fill(out, 32, 9);
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_inject(a.ep, out, 32, a.peer));
	memset(out, 0, 32); // the buffer belongs to the program again
	EQUAL(completion(&b, &ctx[0], NULL).len, 32);
	same(in, 32, 9);
	nothing(&a);
	IS(fi_inject(a.ep, out, a.info->tx_attr->inject_size + 1, a.peer) < 0);
	if (options.type == FI_EP_DGRAM)
		return;
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_injectdata(a.ep, out, 8, 77, a.peer));
	EQUAL(completion(&b, &ctx[0], NULL).data, 77);
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_senddata(a.ep, out, 8, NULL, UINT64_MAX, a.peer, &ctx[1]));
	EQUAL(completion(&b, &ctx[0], NULL).data, UINT64_MAX);
	completion(&a, &ctx[1], NULL);
}

// many posts more messages than there is room for, so that fi_send may return FI_EAGAIN.
static void many(void)
{
	static uint32_t got[100], sent[100];
	for (int i = 0; i < 100; i++) {
		sent[i] = i;
		POST(fi_recv(b.ep, &got[i], 4, NULL, FI_ADDR_UNSPEC, &got[i]));
		POST(fi_send(a.ep, &sent[i], 4, NULL, a.peer, &sent[i]));
	}
	for (int i = 0; i < 100; i++) {
		completion(&b, &got[i], NULL);
		EQUAL(got[i], i);
		completion(&a, &sent[i], NULL);
	}
}

// truncated expects an error for a message that does not fit.
static void truncated(void)
{
	POST(fi_recv(b.ep, in, 16, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, 20, NULL, a.peer, &ctx[1]));
	struct fi_cq_err_entry e = failure(&b, &ctx[0], FI_ETRUNC);
	EQUAL(e.olen, 4);
	char text[256];
	IS(fi_cq_strerror(b.cq, e.prov_errno, e.err_data, text, sizeof text) == text);
	completion(&a, &ctx[1], NULL);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	pair_open();
	sizes();
	vectors();
	inject();
	many();
	if (options.type != FI_EP_DGRAM)
		truncated();
	pair_close();
	return 0;
}
