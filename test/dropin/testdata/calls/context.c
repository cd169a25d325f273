// Shared contexts and scalable endpoints.
#include "calls.h"

static void shared(void)
{
	struct fid_stx *stx = NULL;
	struct fid_ep *srx = NULL, *ep = NULL;
	struct fi_rx_attr rx = *a.info->rx_attr;
	struct fi_tx_attr tx = *a.info->tx_attr;
	static char buf[64];
	struct fi_context2 ctx;
	where = "shared";
	CALL(fi_stx_context(a.domain, NULL, &stx, NULL));
	CALL(fi_stx_context(a.domain, &tx, &stx, NULL));
	CALL(fi_srx_context(a.domain, NULL, &srx, NULL));
	CALL(fi_srx_context(a.domain, &rx, &srx, NULL));
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	if (stx) {
		CALL(fi_ep_bind(ep, &stx->fid, 0));
		CALL(fi_close(&stx->fid));
	}
	if (!srx)
		return;
	CALL(fi_ep_bind(ep, &srx->fid, 0)); // its rx_ctx_cnt is not FI_SHARED_CONTEXT
	CALL(fi_recv(srx, buf, 64, NULL, FI_ADDR_UNSPEC, &ctx));
	CALL(fi_trecv(srx, buf, 64, NULL, FI_ADDR_UNSPEC, 1, 0, &ctx));
	CALL(fi_send(srx, buf, 64, NULL, 0, &ctx));
	CALL(fi_enable(srx));
	CALL(fi_cancel(&srx->fid, &ctx));
	CALL(fi_cancel(&srx->fid, NULL));
	CALL(fi_ep_bind(srx, &a.cq->fid, FI_RECV));
	CALL(fi_close(&srx->fid));
}

static void scalable(void)
{
	struct fid_ep *sep = NULL, *tx = NULL, *rx = NULL;
	struct fi_info *h, *info = NULL;
	struct fi_context2 ctx;
	static char buf[64];
	where = "scalable";
	h = hints_for();
	h->ep_attr->tx_ctx_cnt = h->ep_attr->rx_ctx_cnt = 2;
	CALL(fi_getinfo(API, "127.0.0.1", NULL, FI_SOURCE, h, &info));
	fi_freeinfo(h);
	if (!info)
		return;
	CALL(fi_scalable_ep(a.domain, info, &sep, NULL));
	if (!sep)
		return;
	CALL(fi_scalable_ep_bind(sep, &a.cq->fid, FI_TRANSMIT));
	CALL(fi_scalable_ep_bind(sep, &a.av->fid, 0));
	CALL(fi_tx_context(sep, 0, NULL, &tx, NULL));
	CALL(fi_rx_context(sep, 0, NULL, &rx, NULL));
	CALL(fi_tx_context(sep, 99, NULL, &tx, NULL));
	CALL(fi_rx_context(sep, -1, NULL, &rx, NULL));
	CALL(fi_send(sep, buf, 8, NULL, 0, &ctx));
	CALL(fi_recv(sep, buf, 8, NULL, 0, &ctx));
	CALL(fi_enable(sep));
}

void context_calls(void)
{
	pair_open();
	drain();
	shared();
	scalable();
}
