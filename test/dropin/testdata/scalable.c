// Scalable endpoints (fi_scalable_ep(3)): contexts in both directions, addresses of receive contexts.
#include "pair.h"

#define N 2
static struct fid_ep *tx[N], *rx[N], *sep[2];
static struct fid_cq *txq[N], *rxq[N];
static char out[64], in[64];
static struct fi_context2 ctx[4];

static void contexts(struct fi_info *h)
{
	h->ep_attr->tx_ctx_cnt = h->ep_attr->rx_ctx_cnt = N;
}

// open_sep opens a scalable endpoint in place of the plain one, and a vector with bits for its contexts.
static void open_sep(struct end *e, int which)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE, .rx_ctx_bits = 2};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 64};
	end_open(e);
	OK(fi_close(&e->ep->fid));
	OK(fi_close(&e->av->fid));
	e->ep = NULL;
	OK(fi_av_open(e->domain, &av, &e->av, NULL));
	OK(fi_scalable_ep(e->domain, e->info, &sep[which], NULL));
	EQUAL(sep[which]->fid.fclass, FI_CLASS_SEP);
	OK(fi_scalable_ep_bind(sep[which], &e->av->fid, 0));
	for (int i = 0; i < N; i++) {
		if (which == 0) {
			OK(fi_tx_context(sep[0], i, NULL, &tx[i], &tx[i]));
			EQUAL(tx[i]->fid.fclass, FI_CLASS_TX_CTX);
			OK(fi_cq_open(e->domain, &cq, &txq[i], NULL));
			OK(fi_ep_bind(tx[i], &txq[i]->fid, FI_TRANSMIT));
			OK(fi_enable(tx[i]));
		} else {
			OK(fi_rx_context(sep[1], i, NULL, &rx[i], &rx[i]));
			EQUAL(rx[i]->fid.fclass, FI_CLASS_RX_CTX);
			OK(fi_cq_open(e->domain, &cq, &rxq[i], NULL));
			OK(fi_ep_bind(rx[i], &rxq[i]->fid, FI_RECV));
			OK(fi_enable(rx[i]));
		}
	}
	OK(fi_enable(sep[which]));
}

int main(int argc, char **argv)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	fi_addr_t to;
	begin(argc, argv);
	options.caps = FI_MSG | FI_NAMED_RX_CTX;
	options.more_hints = contexts;
	open_sep(&a, 0);
	open_sep(&b, 1);
	IS(a.info->domain_attr->max_ep_tx_ctx >= N && b.info->domain_attr->max_ep_rx_ctx >= N);
	OK(fi_getname(&sep[1]->fid, &name, &len));
	EQUAL(fi_av_insert(a.av, &name, 1, &to, 0, NULL), 1);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			struct fi_cq_tagged_entry e;
			uint64_t end = now_ms() + 10000;
			ssize_t n;
			int seed = i * N + j;
			fill(out, sizeof out, seed);
			OK(fi_recv(rx[j], in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
			while ((n = fi_send(tx[i], out, sizeof out, NULL, fi_rx_addr(to, j, 2), &ctx[1])) == -FI_EAGAIN) {
				fi_cq_read(txq[i], NULL, 0);
				fi_cq_read(rxq[j], NULL, 0);
				IS(now_ms() < end);
			}
			OK(n);
			while ((n = fi_cq_read(rxq[j], &e, 1)) == -FI_EAGAIN)
				IS(fi_cq_read(txq[(i + 1) % N], NULL, 0) == -FI_EAGAIN && now_ms() < end);
			EQUAL(n, 1);
			IS(e.op_context == &ctx[0]);
			same(in, sizeof in, seed);
			while ((n = fi_cq_read(txq[i], &e, 1)) == -FI_EAGAIN)
				IS(now_ms() < end);
			EQUAL(n, 1);
			IS(e.op_context == &ctx[1]);
		}
	for (int i = 0; i < N; i++) {
		OK(fi_close(&tx[i]->fid));
		OK(fi_close(&rx[i]->fid));
	}
	OK(fi_close(&sep[0]->fid));
	OK(fi_close(&sep[1]->fid));
	for (int i = 0; i < N; i++) {
		OK(fi_close(&txq[i]->fid));
		OK(fi_close(&rxq[i]->fid));
	}
	pair_close();
	return 0;
}
