// Calls on endpoints (fi_endpoint(3)): aliases, operation flags, options, names, cancelled receives, room.
#include "pair.h"

static char out[64], in[64];
static struct fi_context2 ctx[4];

static void aliases(void)
{
	struct fid_ep *alias = NULL;
	uint64_t flags;
	OK(fi_ep_alias(a.ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	IS(alias && alias->fid.fclass == FI_CLASS_EP);
	flags = FI_TRANSMIT;
	OK(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	IS(flags & FI_COMPLETION);
	flags = FI_TRANSMIT;
	OK(fi_control(&alias->fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	OK(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	IS(!(flags & FI_COMPLETION));
	fill(out, 10, 3);
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(alias, out, 10, NULL, a.peer, &ctx[1]));
	completion(&b, &ctx[0], NULL);
	completion(&a, &ctx[1], NULL);
	same(in, 10, 3);
	OK(fi_close(&alias->fid));
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0])); // the endpoint stays open
	POST(fi_send(a.ep, out, 10, NULL, a.peer, &ctx[1]));
	completion(&b, &ctx[0], NULL);
	completion(&a, &ctx[1], NULL);
}

static void settings(void)
{
	size_t min = 0, size = sizeof min;
	OK(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, &size));
	EQUAL(size, sizeof min);
	min = 1234;
	OK(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof min));
	min = 0;
	OK(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, &size));
	EQUAL(min, 1234);
	FAILS(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, 9999, &min, &size), FI_ENOPROTOOPT);
	size = 1;
	IS(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, &size) < 0);
	FAILS(fi_tx_size_left(a.ep), FI_ENOSYS); // as in native
	FAILS(fi_rx_size_left(a.ep), FI_ENOSYS);
}

static void cancel(void)
{
	char other[64];
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_recv(b.ep, other, 64, NULL, FI_ADDR_UNSPEC, &ctx[1]));
	OK(fi_cancel(&b.ep->fid, &ctx[0]));
	failure(&b, &ctx[0], FI_ECANCELED);
	fill(out, 20, 8);
	POST(fi_send(a.ep, out, 20, NULL, a.peer, &ctx[2]));
	completion(&b, &ctx[1], NULL);
	completion(&a, &ctx[2], NULL);
	same(other, 20, 8);
	fi_cancel(&b.ep->fid, &ctx[3]); // an unknown context
	nothing(&b);
}

static void names(void)
{
	struct sockaddr_in name;
	size_t len = 0;
	FAILS(fi_getname(&a.ep->fid, NULL, &len), FI_ETOOSMALL);
	EQUAL(len, sizeof name);
	OK(fi_getname(&a.ep->fid, &name, &len));
	IS(name.sin_port);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	pair_open();
	aliases();
	if (options.type != FI_EP_DGRAM)
		settings();
	if (options.type != FI_EP_DGRAM)
		cancel();
	names();
	pair_close();
	return 0;
}
