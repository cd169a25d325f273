// Endpoints, their options, and connections.
#include "calls.h"

// EP opens an endpoint with one attribute changed.
#define EP(change) do { \
	struct fi_info *info = fi_dupinfo(a.info); \
	struct fid_ep *ep = NULL; \
	change; \
	NAMED(fi_endpoint(a.domain, info, &ep, NULL), "fi_endpoint, %s", #change); \
	if (ep) \
		fi_close(&ep->fid); \
	fi_freeinfo(info); \
} while (0)

static void open_endpoints(void)
{
	struct fid_ep *ep = NULL;
	struct fid_pep *pep = NULL;
	where = "open";
	CALL(fi_endpoint(a.domain, NULL, &ep, NULL));
	EP();
	EP(info->ep_attr->type = 99);
	EP(info->ep_attr->type = options.type == FI_EP_RDM ? FI_EP_DGRAM : FI_EP_RDM);
	EP(info->ep_attr->protocol = 99);
	EP(info->ep_attr->max_msg_size = 1ull << 62);
	EP(info->ep_attr->tx_ctx_cnt = 4);
	EP(info->ep_attr->rx_ctx_cnt = 4);
	EP(info->ep_attr->tx_ctx_cnt = 0);
	EP(info->caps = 0);
	EP(info->caps = 1ull << 63);
	EP(info->mode = 0);
	EP(info->tx_attr->size = 1ull << 40);
	EP(info->tx_attr->inject_size = 1ull << 40);
	EP(info->tx_attr->iov_limit = 1000);
	EP(info->tx_attr->op_flags = ~0ull);
	EP(info->tx_attr->op_flags = FI_DELIVERY_COMPLETE);
	EP(info->tx_attr->caps = FI_RECV);
	EP(info->rx_attr->size = 1ull << 40);
	EP(info->rx_attr->op_flags = ~0ull);
	EP(info->rx_attr->caps = FI_SEND);
	EP(info->handle = &a.cq->fid);
	CALL(fi_endpoint2(a.domain, a.info, &ep, 0, NULL));
	CALL(fi_endpoint2(a.domain, a.info, &ep, 1ull << 60, NULL));
	CALL(fi_endpoint2(a.domain, a.info, &ep, FI_PEER_TRANSFER, NULL));
	CALL(fi_passive_ep(a.fabric, a.info, &pep, NULL));
	CALL(fi_passive_ep(a.fabric, NULL, &pep, NULL));
	CALL(fi_scalable_ep(a.domain, a.info, &ep, NULL));
}

// names makes the calls of connection management on an endpoint in any state.
static void names(struct fid_ep *ep)
{
	struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = 1};
	char buf[128];
	size_t len = sizeof buf;
	CALL(fi_getname(&ep->fid, buf, &len));
	len = 0;
	CALL(fi_getname(&ep->fid, NULL, &len));
	CALL(len);
	len = 3;
	CALL(fi_getname(&ep->fid, buf, &len));
	len = sizeof buf;
	CALL(fi_getpeer(ep, buf, &len));
	CALL(fi_setname(&ep->fid, &s, 3));
	CALL(fi_setname(&ep->fid, &s, sizeof s));
	CALL(fi_accept(ep, NULL, 0));
	CALL(fi_shutdown(ep, 1ull << 60));
	if (options.type != FI_EP_MSG) {
		CALL(fi_shutdown(ep, 0));
		CALL(fi_connect(ep, &s, NULL, 0));
		CALL(fi_listen((struct fid_pep *)ep));
		CALL(fi_reject((struct fid_pep *)ep, NULL, NULL, 0));
	}
	CALL(fi_cancel(&ep->fid, NULL));
	CALL(fi_rx_size_left(ep));
	CALL(fi_tx_size_left(ep));
}

static void bind_one(struct fid_ep *ep)
{
	where = "bind";
	CALL(fi_ep_bind(ep, &a.cq->fid, 0));
	CALL(fi_ep_bind(ep, &a.cq->fid, 1ull << 60));
	CALL(fi_ep_bind(ep, &a.cq->fid, FI_REMOTE_READ));
	CALL(fi_ep_bind(ep, &a.domain->fid, 0));
	CALL(fi_ep_bind(ep, &a.fabric->fid, 0));
	CALL(fi_ep_bind(ep, &b.cq->fid, FI_TRANSMIT)); // a queue of another domain
	CALL(fi_ep_bind(ep, &a.eq->fid, 0));
	if (a.av)
		CALL(fi_ep_bind(ep, &a.av->fid, 0));
	CALL(fi_enable(ep));
	CALL(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT));
	CALL(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT));
	CALL(fi_enable(ep));
	CALL(fi_ep_bind(ep, &a.cq->fid, FI_RECV | FI_SELECTIVE_COMPLETION));
	CALL(fi_enable(ep));
	CALL(fi_enable(ep));
	CALL(fi_ep_bind(ep, &a.cq->fid, FI_RECV));
	if (a.av)
		CALL(fi_ep_bind(ep, &a.av->fid, 0));
}

void endpoint_calls(void)
{
	struct fid_ep *ep, *alias = NULL;
	struct fi_tx_attr tx = {0};
	struct fi_rx_attr rx = {0};
	pair_open();
	drain();
	open_endpoints();
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	where = "before enable";
	names(ep);
	CALL(fi_ep_alias(ep, &alias, 0));
	bind_one(ep);
	where = "enabled";
	names(a.ep);
	CALL(fi_ep_alias(a.ep, &alias, 0));
	CALL(fi_ep_alias(a.ep, &alias, FI_TRANSMIT | FI_INJECT));
	CALL(fi_ep_alias(a.ep, &alias, FI_TRANSMIT | FI_RECV));
	CALL(fi_ep_alias(a.ep, &alias, 1ull << 60));
	CALL(fi_tx_context(a.ep, 0, &tx, &ep, NULL));
	CALL(fi_rx_context(a.ep, 0, &rx, &ep, NULL));
}

static void options_of(struct fid_ep *ep)
{
	char val[16];
	for (int name = -1; name < 23; name++) {
		size_t len = sizeof val;
		NAMED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, val, &len), "fi_getopt %d, room for 16", name);
		NAMED(len, "its size, %d", name);
		len = 1;
		NAMED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, val, &len), "fi_getopt %d, room for 1", name);
		len = 0;
		memset(val, 0, sizeof val);
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 8), "fi_setopt %d, 8 bytes of 0", name);
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 4), "fi_setopt %d, 4 bytes of 0", name);
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 1), "fi_setopt %d, 1 byte of 0", name);
		val[1] = 1;
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 8), "fi_setopt %d, 256", name);
		memset(val, 0x7f, sizeof val);
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 8), "fi_setopt %d, much", name);
		NAMED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, val, 4), "fi_setopt %d, much of an int", name);
	}
	size_t len = 8;
	CALL(fi_getopt(&ep->fid, 99, FI_OPT_MIN_MULTI_RECV, val, &len));
	CALL(fi_setopt(&ep->fid, 99, FI_OPT_MIN_MULTI_RECV, val, len));
}

void option_calls(void)
{
	struct fid_ep *ep;
	pair_open();
	drain();
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	where = "before enable";
	options_of(ep);
	where = "enabled";
	options_of(a.ep);
}

static void passive(struct fid_pep *pep)
{
	struct sockaddr_in s = {.sin_family = AF_INET};
	char buf[128];
	size_t len = sizeof buf;
	int backlog = 5, negative = -1;
	where = "passive";
	CALL(fi_getname(&pep->fid, buf, &len));
	len = 2;
	CALL(fi_getname(&pep->fid, buf, &len));
	CALL(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	CALL(fi_control(&pep->fid, FI_BACKLOG, &negative));
	CALL(fi_listen(pep)); // without an event queue
	CALL(fi_pep_bind(pep, &a.cq->fid, 0));
	CALL(fi_pep_bind(pep, &a.eq->fid, 1ull << 60));
	CALL(fi_pep_bind(pep, &a.eq->fid, 0));
	CALL(fi_pep_bind(pep, &a.eq->fid, 0));
	CALL(fi_setname(&pep->fid, &s, sizeof s));
	CALL(fi_setname(&pep->fid, &s, 3));
	len = 8;
	CALL(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, buf, &len));
	CALL(*(size_t *)buf);
	CALL(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, buf, &len));
	CALL(fi_setopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, buf, 8));
	CALL(fi_listen(pep));
	CALL(fi_listen(pep));
	CALL(fi_setname(&pep->fid, &s, sizeof s));
	CALL(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	CALL(fi_pep_bind(pep, &a.eq->fid, 0));
	CALL(fi_reject(pep, NULL, NULL, 0));
	CALL(fi_reject(pep, &a.cq->fid, NULL, 0));
	CALL(fi_close(&pep->fid));
}

void connection_calls(void)
{
	struct fid_pep *pep = NULL;
	struct fid_ep *ep = NULL;
	struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = 1, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static char param[1 << 16];
	pair_open();
	drain();
	where = "connect";
	if (options.type != FI_EP_MSG)
		return;
	CALL(fi_passive_ep(a.fabric, a.info, &pep, NULL));
	if (pep)
		passive(pep);
	where = "connect";
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	CALL(fi_connect(ep, &s, NULL, 0)); // without bound objects
	OK(fi_ep_bind(ep, &a.eq->fid, 0));
	CALL(fi_connect(ep, &s, NULL, 0));
	OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	OK(fi_ep_bind(ep, &a.eq->fid, 0));
	OK(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV));
	CALL(fi_connect(ep, &s, param, 257));
	CALL(fi_connect(ep, &s, param, sizeof param));
	CALL(fi_accept(ep, NULL, 0));
	CALL(fi_shutdown(ep, 0));
	CALL(fi_connect(ep, &s, NULL, 0));
	CALL(fi_connect(ep, &s, NULL, 0));
	where = "connected";
	CALL(fi_connect(a.ep, &s, NULL, 0));
	CALL(fi_accept(a.ep, NULL, 0));
	CALL(fi_accept(b.ep, NULL, 0));
	CALL(fi_shutdown(a.ep, 1));
	CALL(fi_shutdown(a.ep, 0));
	CALL(fi_shutdown(a.ep, 0));
	CALL(fi_send(a.ep, param, 8, NULL, 0, NULL));
	CALL(fi_recv(a.ep, param, 8, NULL, 0, NULL));
}
