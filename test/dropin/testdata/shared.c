// Shared contexts (fi_endpoint(3)). Two endpoints of b receive into one context, and two of a send through one.
#include "pair.h"

static struct fid_ep *srx, *second_a, *second_b;
static struct fid_stx *stx;
static char out[64], in[4][64];
static struct fi_context2 ctx[8];

static void sharing(struct fi_info *h)
{
	h->ep_attr->rx_ctx_cnt = h->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void bind_shared(struct end *e)
{
	if (!stx) {
		OK(fi_stx_context(a.domain, a.info->tx_attr, &stx, NULL));
		EQUAL(stx->fid.fclass, FI_CLASS_STX_CTX);
	}
	if (e == &a) {
		struct fid_ep *none;
		OK(fi_ep_bind(e->ep, &stx->fid, 0));
		OK(fi_srx_context(a.domain, a.info->rx_attr, &none, NULL)); // a receives nothing
		OK(fi_ep_bind(e->ep, &none->fid, 0));
		return;
	}
	struct fid_stx *other;
	OK(fi_stx_context(b.domain, b.info->tx_attr, &other, NULL));
	OK(fi_ep_bind(e->ep, &other->fid, 0));
	if (!srx) {
		OK(fi_srx_context(b.domain, b.info->rx_attr, &srx, &srx));
		EQUAL(srx->fid.fclass, FI_CLASS_SRX_CTX);
	}
	OK(fi_ep_bind(e->ep, &srx->fid, 0));
}

static fi_addr_t insert(struct fid_ep *of)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	fi_addr_t at;
	OK(fi_getname(&of->fid, &name, &len));
	EQUAL(fi_av_insert(a.av, &name, 1, &at, 0, NULL), 1);
	return at;
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.more_hints = sharing;
	options.before_enable = bind_shared;
	end_open(&a);
	second_a = a.ep;
	endpoint_open(&a, a.info);
	end_open(&b);
	second_b = b.ep;
	endpoint_open(&b, b.info);
	fi_addr_t first = insert(b.ep), second = insert(second_b);
	for (int i = 0; i < 4; i++)
		POST(fi_recv(srx, in[i], 64, NULL, FI_ADDR_UNSPEC, &ctx[i]));
	for (int i = 0; i < 4; i++) { // from each to each, one after the other
		fill(out, 64, i);
		POST(fi_send(i & 1 ? a.ep : second_a, out, 64, NULL, i & 2 ? first : second, &ctx[4 + i]));
		completion(&a, &ctx[4 + i], NULL);
		completion(&b, &ctx[i], NULL);
		same(in[i], 64, i);
	}
	IS(fi_recv(b.ep, in[0], 64, NULL, FI_ADDR_UNSPEC, &ctx[0]) < 0); // receives are posted to the context
	exit(0); // with all objects open
}
