// fi_getinfo(3), and calls without an object.
#include "calls.h"

static struct fi_info *h;

static int ask(uint32_t version, const char *node, const char *service, uint64_t flags)
{
	struct fi_info *got = NULL;
	int rc = fi_getinfo(version, node, service, flags, h, &got);
	fi_freeinfo(got);
	return rc;
}

#define PLAIN ask(API, "127.0.0.1", NULL, FI_SOURCE)

// HINT calls fi_getinfo with one hint changed.
#define HINT(change) do { \
	h = hints_for(); \
	change; \
	NAMED(PLAIN, "fi_getinfo, hints with %s", #change); \
	fi_freeinfo(h); \
	h = NULL; \
} while (0)

static void arguments(void)
{
	struct fi_info *got = NULL;
	where = "getinfo";
	h = hints_for();
	CALL(ask(API, NULL, NULL, 0));
	CALL(ask(0, NULL, NULL, 0));
	CALL(ask(FI_VERSION(1, 0), NULL, NULL, 0));
	CALL(ask(FI_VERSION(1, 4), NULL, NULL, 0));
	CALL(ask(FI_VERSION(2, 0), NULL, NULL, 0));
	CALL(ask(FI_VERSION(2, 6), NULL, NULL, 0));
	CALL(ask(FI_VERSION(9, 9), NULL, NULL, 0));
	CALL(ask(API, "127.0.0.1", NULL, 0));
	CALL(ask(API, "127.0.0.1", "7471", 0));
	CALL(ask(API, NULL, "7471", 0));
	CALL(ask(API, NULL, "7471", FI_SOURCE));
	CALL(ask(API, NULL, NULL, FI_SOURCE));
	CALL(ask(API, "127.0.0.1", "nosuchservice", 0));
	CALL(ask(API, "127.0.0.1", "70000", 0));
	CALL(ask(API, "127.0.0.1", "-1", 0));
	CALL(ask(API, "localhost", NULL, FI_NUMERICHOST));
	CALL(ask(API, "localhost", "7471", FI_SOURCE));
	CALL(ask(API, "256.1.1.1", NULL, FI_NUMERICHOST));
	CALL(ask(API, "", NULL, 0));
	CALL(ask(API, "127.0.0.1", "", 0));
	CALL(ask(API, "127.0.0.1", NULL, 1ull << 63));
	CALL(ask(API, NULL, NULL, FI_PROV_ATTR_ONLY));
	CALL(ask(API, "198.51.100.1", NULL, FI_SOURCE));
	fi_freeinfo(h);
	h = NULL;
	CALL(ask(API, NULL, NULL, 0));
	CALL(fi_getinfo(API, NULL, NULL, 0, NULL, NULL));
	CALL(fi_getinfo(API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &got));
}

static void hints(void)
{
	where = "hints";
	HINT(h->caps = 0);
	HINT(h->caps = ~0ull);
	HINT(h->caps = 1ull << 63);
	HINT(h->caps = FI_MSG | FI_SEND);
	HINT(h->caps = FI_SEND);
	HINT(h->caps = FI_MSG | FI_HMEM);
	HINT(h->caps = FI_MSG | FI_MULTICAST);
	HINT(h->caps = FI_MSG | FI_VARIABLE_MSG);
	HINT(h->caps = FI_MSG | FI_SOURCE);
	HINT(h->caps = FI_MSG | FI_DIRECTED_RECV);
	HINT(h->mode = 0);
	HINT(h->mode = ~0ull);
	HINT(h->addr_format = FI_ADDR_GNI);
	HINT(h->addr_format = FI_SOCKADDR);
	HINT(h->addr_format = FI_SOCKADDR_IN6);
	HINT(h->addr_format = FI_ADDR_STR);
	HINT(h->addr_format = 12345);
	HINT(h->ep_attr->type = FI_EP_UNSPEC);
	HINT(h->ep_attr->type = 99);
	HINT(h->ep_attr->protocol = 99);
	HINT(h->ep_attr->protocol_version = 99);
	HINT(h->ep_attr->max_msg_size = 1ull << 62);
	HINT(h->ep_attr->msg_prefix_size = 64);
	HINT(h->ep_attr->mem_tag_format = 7);
	HINT(h->ep_attr->tx_ctx_cnt = 2);
	HINT(h->ep_attr->rx_ctx_cnt = 2);
	HINT(h->ep_attr->tx_ctx_cnt = 100000);
	HINT(h->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT);
	HINT(h->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT);
	HINT(h->ep_attr->auth_key_size = 8);
	HINT(h->domain_attr->threading = 99);
	HINT(h->domain_attr->threading = FI_THREAD_SAFE);
	HINT(h->domain_attr->threading = FI_THREAD_DOMAIN);
	HINT(h->domain_attr->threading = FI_THREAD_ENDPOINT);
	HINT(h->domain_attr->threading = FI_THREAD_COMPLETION);
	HINT(h->domain_attr->threading = FI_THREAD_FID);
	HINT(h->domain_attr->control_progress = 99);
	HINT(h->domain_attr->data_progress = FI_PROGRESS_AUTO);
	HINT(h->domain_attr->data_progress = FI_PROGRESS_MANUAL);
	HINT(h->domain_attr->data_progress = 99);
	HINT(h->domain_attr->resource_mgmt = FI_RM_DISABLED);
	HINT(h->domain_attr->resource_mgmt = FI_RM_ENABLED);
	HINT(h->domain_attr->resource_mgmt = 99);
	HINT(h->domain_attr->av_type = FI_AV_MAP);
	HINT(h->domain_attr->av_type = FI_AV_TABLE);
	HINT(h->domain_attr->av_type = 99);
	HINT(h->domain_attr->mr_mode = FI_MR_BASIC);
	HINT(h->domain_attr->mr_mode = FI_MR_SCALABLE);
	HINT(h->domain_attr->mr_mode = 1 << 30);
	HINT(h->domain_attr->mr_key_size = 64);
	HINT(h->domain_attr->cq_data_size = 4);
	HINT(h->domain_attr->cq_data_size = 8);
	HINT(h->domain_attr->cq_data_size = 16);
	HINT(h->domain_attr->caps = FI_SHARED_AV);
	HINT(h->domain_attr->caps = FI_LOCAL_COMM);
	HINT(h->domain_attr->caps = FI_REMOTE_COMM);
	HINT(h->domain_attr->caps = 1ull << 62);
	HINT(h->domain_attr->mode = 1ull << 40);
	HINT(h->domain_attr->auth_key_size = 8);
	HINT(h->domain_attr->max_err_data = 1 << 20);
	HINT(h->domain_attr->mr_cnt = 1 << 30);
	HINT(h->domain_attr->tclass = FI_TC_LOW_LATENCY);
	HINT(h->domain_attr->name = strdup("nosuchdomain"));
	HINT(h->domain_attr->name = strdup("lo"));
	HINT(h->fabric_attr->name = strdup("nosuchfabric"));
	HINT(h->fabric_attr->prov_version = FI_VERSION(9, 9));
	HINT(h->fabric_attr->api_version = FI_VERSION(9, 9));
	HINT(free(h->fabric_attr->prov_name); h->fabric_attr->prov_name = strdup("nosuch"));
	HINT(free(h->fabric_attr->prov_name); h->fabric_attr->prov_name = strdup("^tcp"));
}

static void attributes(void)
{
	where = "attributes";
	HINT(h->tx_attr->size = 1 << 30);
	HINT(h->tx_attr->inject_size = 1 << 30);
	HINT(h->tx_attr->iov_limit = 1000);
	HINT(h->tx_attr->rma_iov_limit = 1000);
	HINT(h->tx_attr->caps = FI_MSG | FI_SEND);
	HINT(h->tx_attr->caps = FI_RECV);
	HINT(h->tx_attr->caps = FI_HMEM);
	HINT(h->tx_attr->mode = 1ull << 40);
	HINT(h->tx_attr->op_flags = FI_INJECT_COMPLETE);
	HINT(h->tx_attr->op_flags = FI_TRANSMIT_COMPLETE);
	HINT(h->tx_attr->op_flags = FI_DELIVERY_COMPLETE);
	HINT(h->tx_attr->op_flags = FI_COMMIT_COMPLETE);
	HINT(h->tx_attr->op_flags = FI_MULTI_RECV);
	HINT(h->tx_attr->op_flags = 1ull << 61);
	HINT(h->tx_attr->msg_order = FI_ORDER_SAS);
	HINT(h->tx_attr->msg_order = FI_ORDER_RAW | FI_ORDER_WAW);
	HINT(h->tx_attr->msg_order = ~0ull);
	HINT(h->tx_attr->comp_order = FI_ORDER_STRICT);
	HINT(h->tx_attr->comp_order = FI_ORDER_DATA);
	HINT(h->tx_attr->comp_order = 1ull << 50);
	HINT(h->tx_attr->tclass = FI_TC_BULK_DATA);
	HINT(h->tx_attr->tclass = 99);
	HINT(h->rx_attr->size = 1 << 30);
	HINT(h->rx_attr->iov_limit = 1000);
	HINT(h->rx_attr->caps = FI_SEND);
	HINT(h->rx_attr->caps = FI_MSG | FI_RECV);
	HINT(h->rx_attr->mode = 1ull << 40);
	HINT(h->rx_attr->op_flags = FI_MULTI_RECV);
	HINT(h->rx_attr->op_flags = FI_INJECT);
	HINT(h->rx_attr->op_flags = 1ull << 61);
	HINT(h->rx_attr->msg_order = FI_ORDER_SAS);
	HINT(h->rx_attr->msg_order = ~0ull);
	HINT(h->rx_attr->comp_order = FI_ORDER_STRICT);
	HINT(h->rx_attr->comp_order = 1ull << 50);
	HINT(h->rx_attr->total_buffered_recv = 1 << 20);
	HINT(h->src_addrlen = 3; h->src_addr = calloc(1, 3));
	HINT(h->dest_addrlen = 3; h->dest_addr = calloc(1, 3));
	HINT(free(h->tx_attr); h->tx_attr = NULL);
	HINT(free(h->rx_attr); h->rx_attr = NULL);
	HINT(free(h->ep_attr); h->ep_attr = NULL);
	HINT(free(h->domain_attr); h->domain_attr = NULL);
}

// sum returns a checksum of a text.
static long long sum(const char *s)
{
	long long n = 0;
	while (s && *s)
		n = n * 31 % 1000003 + (unsigned char)*s++;
	return n;
}

static void texts(void)
{
	static char buf[4096], zero[4096];
	struct fi_param *p = NULL;
	int n = 0;
	struct fid *fid;
	where = "texts";
	for (int i = -1; i < 40; i++)
		NAMED(fi_tostr_r(buf, sizeof buf, zero, (enum fi_type)i) == NULL, "fi_tostr_r is NULL, type %d", i);
	CALL(fi_tostr_r(NULL, 10, &n, FI_TYPE_CAPS) == NULL);
	CALL(fi_tostr_r(buf, 0, &n, FI_TYPE_CAPS) == NULL);
	CALL(fi_getparams(&p, &n));
	CALL(fi_getparams(NULL, &n));
	CALL(fi_getparams(&p, NULL));
	for (int i = -1; i < 270; i += i == 120 ? 130 : 1)
		NAMED(sum(fi_strerror(i)), "sum of fi_strerror(%d)", i);
	CALL(fi_open(API, "nosuch", NULL, 0, 0, &fid, NULL));
	CALL(fi_open(API, "logging", NULL, 0, 0, &fid, NULL));
	CALL(fi_open(API, "mr_cache", NULL, 0, 0, &fid, NULL));
	CALL(fi_open(FI_VERSION(9, 9), "logging", NULL, 0, 0, &fid, NULL));
}

void info_calls(void)
{
	arguments();
	hints();
	attributes();
	texts();
}
