// Transfers: messages, tagged messages and remote memory access.
#include "calls.h"

static char buf[1 << 16];
static struct fi_context2 ctx[4096];
static int used;
#define CTX (&ctx[used++ % 4096])
static fi_addr_t to;
static size_t inject_size, max_size;

static void messages(struct fid_ep *ep)
{
	struct iovec iov[16] = {{buf, 8}, {buf + 8, 8}};
	struct fi_msg m = {.msg_iov = iov, .iov_count = 1, .addr = to, .context = CTX};
	CALL(fi_recv(ep, buf, 64, NULL, FI_ADDR_UNSPEC, CTX));
	CALL(fi_recv(ep, buf, 64, NULL, to, CTX));
	CALL(fi_recv(ep, buf, 64, NULL, 1000000, CTX));
	CALL(fi_recv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, CTX));
	CALL(fi_recvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, CTX));
	CALL(fi_recvv(ep, iov, NULL, 0, FI_ADDR_UNSPEC, CTX));
	CALL(fi_recvv(ep, iov, NULL, 16, FI_ADDR_UNSPEC, CTX));
	CALL(fi_send(ep, buf, 8, NULL, to, CTX));
	drain();
	CALL(fi_send(ep, NULL, 0, NULL, to, CTX));
	drain();
	CALL(fi_send(ep, buf, 8, NULL, 1000000, CTX));
	drain();
	CALL(fi_send(ep, buf, 8, NULL, FI_ADDR_UNSPEC, CTX));
	drain();
	CALL(fi_send(ep, buf, max_size + 1, NULL, to, CTX));
	drain();
	CALL(fi_sendv(ep, iov, NULL, 2, to, CTX));
	drain();
	CALL(fi_sendv(ep, iov, NULL, 0, to, CTX));
	drain();
	CALL(fi_sendv(ep, iov, NULL, 16, to, CTX));
	drain();
	CALL(fi_inject(ep, buf, 8, to));
	CALL(fi_inject(ep, buf, inject_size, to));
	CALL(fi_inject(ep, buf, inject_size + 1, to));
	CALL(fi_inject(ep, buf, 8, 1000000));
	drain();
	CALL(fi_senddata(ep, buf, 8, NULL, 7, to, CTX));
	drain();
	CALL(fi_injectdata(ep, buf, 8, 7, to));
	CALL(fi_injectdata(ep, buf, inject_size + 1, 7, to));
	drain();
	const uint64_t flags[] = {0, FI_COMPLETION, FI_INJECT, FI_MORE, FI_REMOTE_CQ_DATA, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE, FI_INJECT_COMPLETE,
		FI_COMMIT_COMPLETE, FI_MATCH_COMPLETE, FI_FENCE, FI_MULTI_RECV, FI_PEEK, FI_CLAIM, FI_DISCARD,
		FI_MULTICAST, FI_TRIGGER, 1ull << 61};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		m.context = CTX;
		if (flags[i] != FI_TRIGGER) {
			NAMED(fi_sendmsg(ep, &m, flags[i]), "fi_sendmsg, flags %#llx", (unsigned long long)flags[i]);
			m.addr = FI_ADDR_UNSPEC;
			NAMED(fi_recvmsg(ep, &m, flags[i]), "fi_recvmsg, flags %#llx", (unsigned long long)flags[i]);
			m.addr = to;
			drain();
		}
	}
	m.iov_count = 0;
	CALL(fi_sendmsg(ep, &m, 0));
	m.iov_count = 16;
	CALL(fi_sendmsg(ep, &m, 0));
	iov[0].iov_len = inject_size + 1;
	m.iov_count = 1;
	CALL(fi_sendmsg(ep, &m, FI_INJECT));
	drain();
}

static void tagged(struct fid_ep *ep)
{
	struct iovec iov[16] = {{buf, 8}, {buf + 8, 8}};
	struct fi_msg_tagged m = {.msg_iov = iov, .iov_count = 1, .addr = to, .context = CTX, .tag = 5};
	CALL(fi_trecv(ep, buf, 64, NULL, FI_ADDR_UNSPEC, 5, 0, CTX));
	CALL(fi_trecv(ep, buf, 64, NULL, to, 5, ~0ull, CTX));
	CALL(fi_trecv(ep, buf, 64, NULL, 1000000, 5, 0, CTX));
	CALL(fi_trecvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, 5, 0, CTX));
	CALL(fi_trecvv(ep, iov, NULL, 0, FI_ADDR_UNSPEC, 5, 0, CTX));
	CALL(fi_trecvv(ep, iov, NULL, 16, FI_ADDR_UNSPEC, 5, 0, CTX));
	CALL(fi_tsend(ep, buf, 8, NULL, to, 5, CTX));
	drain();
	CALL(fi_tsend(ep, buf, 8, NULL, 1000000, 5, CTX));
	CALL(fi_tsend(ep, buf, max_size + 1, NULL, to, 5, CTX));
	CALL(fi_tsendv(ep, iov, NULL, 2, to, 5, CTX));
	CALL(fi_tsendv(ep, iov, NULL, 0, to, 5, CTX));
	CALL(fi_tsendv(ep, iov, NULL, 16, to, 5, CTX));
	drain();
	CALL(fi_tinject(ep, buf, 8, to, 5));
	CALL(fi_tinject(ep, buf, inject_size + 1, to, 5));
	CALL(fi_tsenddata(ep, buf, 8, NULL, 7, to, 5, CTX));
	CALL(fi_tinjectdata(ep, buf, 8, 7, to, 5));
	CALL(fi_tinjectdata(ep, buf, inject_size + 1, 7, to, 5));
	drain();
	const uint64_t flags[] = {0, FI_COMPLETION, FI_INJECT, FI_MORE, FI_REMOTE_CQ_DATA, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE, FI_INJECT_COMPLETE,
		FI_COMMIT_COMPLETE, FI_MATCH_COMPLETE, FI_FENCE, FI_MULTI_RECV, FI_PEEK, FI_PEEK | FI_CLAIM,
		FI_PEEK | FI_DISCARD, FI_CLAIM, FI_DISCARD,
		FI_CLAIM | FI_DISCARD, 1ull << 61};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		m.context = CTX;
		NAMED(fi_tsendmsg(ep, &m, flags[i]), "fi_tsendmsg, flags %#llx", (unsigned long long)flags[i]);
		m.addr = FI_ADDR_UNSPEC;
		NAMED(fi_trecvmsg(ep, &m, flags[i]), "fi_trecvmsg, flags %#llx", (unsigned long long)flags[i]);
		m.addr = to;
		drain();
	}
}

static void remote(struct fid_ep *ep)
{
	struct iovec iov[16] = {{buf, 8}, {buf + 8, 8}};
	struct fi_rma_iov rma[16] = {{0, 8, 900}, {8, 8, 900}};
	struct fi_msg_rma m = {.msg_iov = iov, .iov_count = 1, .addr = to, .rma_iov = rma,
		.rma_iov_count = 1, .context = CTX};
	CALL(fi_read(ep, buf, 8, NULL, to, 0, 900, CTX));
	drain();
	CALL(fi_read(ep, buf, 0, NULL, to, 0, 900, CTX));
	drain();
	CALL(fi_read(ep, buf, max_size + 1, NULL, to, 0, 900, CTX));
	CALL(fi_read(ep, buf, 8, NULL, 1000000, 0, 900, CTX));
	CALL(fi_readv(ep, iov, NULL, 2, to, 0, 900, CTX));
	CALL(fi_readv(ep, iov, NULL, 0, to, 0, 900, CTX));
	CALL(fi_readv(ep, iov, NULL, 16, to, 0, 900, CTX));
	drain();
	CALL(fi_write(ep, buf, 8, NULL, to, 0, 900, CTX));
	drain();
	CALL(fi_write(ep, buf, max_size + 1, NULL, to, 0, 900, CTX));
	CALL(fi_writev(ep, iov, NULL, 2, to, 0, 900, CTX));
	CALL(fi_writev(ep, iov, NULL, 0, to, 0, 900, CTX));
	CALL(fi_writev(ep, iov, NULL, 16, to, 0, 900, CTX));
	CALL(fi_writedata(ep, buf, 8, NULL, 7, to, 0, 900, CTX));
	drain();
	CALL(fi_inject_write(ep, buf, 8, to, 0, 900));
	CALL(fi_inject_write(ep, buf, inject_size + 1, to, 0, 900));
	CALL(fi_inject_writedata(ep, buf, 8, 7, to, 0, 900));
	drain();
	const uint64_t flags[] = {0, FI_COMPLETION, FI_INJECT, FI_MORE, FI_REMOTE_CQ_DATA, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE, FI_INJECT_COMPLETE,
		FI_COMMIT_COMPLETE, FI_FENCE, FI_MULTI_RECV, FI_PEEK, 1ull << 61};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		m.context = CTX;
		NAMED(fi_writemsg(ep, &m, flags[i]), "fi_writemsg, flags %#llx", (unsigned long long)flags[i]);
		NAMED(fi_readmsg(ep, &m, flags[i]), "fi_readmsg, flags %#llx", (unsigned long long)flags[i]);
		drain();
	}
	m.rma_iov_count = 2;
	CALL(fi_writemsg(ep, &m, 0)); // the lengths differ
	m.iov_count = 2;
	CALL(fi_writemsg(ep, &m, 0));
	m.rma_iov_count = 0;
	CALL(fi_writemsg(ep, &m, 0));
	m.rma_iov_count = 16;
	CALL(fi_writemsg(ep, &m, 0));
	CALL(fi_readmsg(ep, &m, 0));
	drain();
}

void transfer_calls(void)
{
	static char memory[4096];
	struct fid_mr *mr = NULL;
	struct fid_ep *ep = NULL;
	if (options.type == FI_EP_RDM)
		options.caps = FI_MSG | FI_TAGGED | FI_RMA;
	else if (options.type == FI_EP_MSG)
		options.caps = FI_MSG | FI_RMA;
	pair_open();
	drain();
	fi_mr_reg(b.domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 900, 0, &mr, NULL);
	inject_size = a.info->tx_attr->inject_size;
	max_size = a.info->ep_attr->max_msg_size;
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	where = "not enabled";
	to = a.peer;
	CALL(fi_recv(ep, buf, 64, NULL, FI_ADDR_UNSPEC, CTX));
	CALL(fi_send(ep, buf, 64, NULL, to, CTX));
	CALL(fi_inject(ep, buf, 8, to));
	where = "messages";
	messages(a.ep);
	where = "tagged";
	tagged(a.ep);
	where = "remote";
	remote(a.ep);
}
