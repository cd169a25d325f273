// Calls with a length but no memory. All of them are refused, except plain receives, and later calls work.
#include "pair.h"

static char out[64], in[64];
static struct fi_context2 ctx;

int main(int argc, char **argv)
{
	struct iovec iov = {NULL, 8};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &ctx};
	struct fi_msg_tagged t = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &ctx, .tag = 1};
	struct fid_mr *mr;
	begin(argc, argv);
	options.caps = FI_MSG | FI_TAGGED | FI_RMA;
	pair_open();
	FAILS(fi_recvv(b.ep, &iov, NULL, 1, FI_ADDR_UNSPEC, &ctx), FI_EINVAL);
	FAILS(fi_recvmsg(b.ep, &m, 0), FI_EINVAL);
	FAILS(fi_trecvmsg(b.ep, &t, 0), FI_EINVAL);
	FAILS(fi_send(a.ep, NULL, 8, NULL, a.peer, &ctx), FI_EINVAL);
	FAILS(fi_inject(a.ep, NULL, 8, a.peer), FI_EINVAL);
	FAILS(fi_tsend(a.ep, NULL, 8, NULL, a.peer, 1, &ctx), FI_EINVAL);
	FAILS(fi_write(a.ep, NULL, 8, NULL, a.peer, 0, 0, &ctx), FI_EINVAL);
	FAILS(fi_read(a.ep, NULL, 8, NULL, a.peer, 0, 0, &ctx), FI_EINVAL);
	FAILS(fi_mr_reg(a.domain, NULL, 8, FI_REMOTE_READ, 0, 77, 0, &mr, NULL), FI_EINVAL);

	// With length 0 the address may be NULL.
	POST(fi_recv(b.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, &ctx));
	POST(fi_inject(a.ep, NULL, 0, a.peer));
	EQUAL(completion(&b, &ctx, NULL).len, 0);

	// A receive may have the address NULL. It then has room for no data.
	POST(fi_recv(b.ep, NULL, 8, NULL, FI_ADDR_UNSPEC, &ctx));
	POST(fi_inject(a.ep, NULL, 0, a.peer));
	EQUAL(completion(&b, &ctx, NULL).len, 0);
	POST(fi_trecv(b.ep, NULL, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &ctx));
	POST(fi_tinject(a.ep, NULL, 0, a.peer, 1));
	EQUAL(completion(&b, &ctx, NULL).len, 0);
	POST(fi_recv(b.ep, NULL, 8, NULL, FI_ADDR_UNSPEC, &ctx));
	POST(fi_inject(a.ep, out, 4, a.peer));
	EQUAL(failure(&b, &ctx, FI_ETRUNC).olen, 4);

	POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx));
	fill(out, 64, 3);
	POST(fi_inject(a.ep, out, 64, a.peer));
	EQUAL(completion(&b, &ctx, NULL).len, 64);
	same(in, 64, 3);
	pair_close();
	return 0;
}
