// Receives that take several messages (FI_MULTI_RECV, fi_msg(3)).
#include "pair.h"

static char out[64], in[1000];
static struct fi_context2 ctx;

int main(int argc, char **argv)
{
	struct iovec iov = {in, sizeof in};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &ctx};
	size_t min = 64, at = 0, n = 0;
	begin(argc, argv);
	options.caps = FI_MSG | FI_MULTI_RECV;
	pair_open();
	OK(fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof min));
	POST(fi_recvmsg(b.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
	for (;;) {
		size_t len = 1 + n * 7 % 60;
		fill(out, len, n);
		POST(fi_inject(a.ep, out, len, a.peer));
		struct fi_cq_tagged_entry e = completion(&b, &ctx, NULL);
		IS(e.buf == in + at);
		EQUAL(e.len, len);
		same(e.buf, len, n);
		at += len;
		n++;
		if (e.flags & FI_MULTI_RECV)
			break;
		IS(at <= sizeof in - min);
	}
	IS(at > sizeof in - min && n > 10);
	nothing(&b);
	pair_close();
	return 0;
}
