// Invalid arguments are errors of the call. They neither end the process nor change anything. Contexts are numbers,
// and any value is returned unchanged.
#include "pair.h"

static char out[64], in[64];

static void contexts(void)
{
	uintptr_t odd[] = {0, 1, 2, 3, 4095, 0xdeadbeef, 0xc000000001, 0xc000123456, 0x7fffffffffff, UINTPTR_MAX,
		UINTPTR_MAX - 7, (uintptr_t)1 << 63};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, (void *)odd[i]));
		POST(fi_send(a.ep, out, sizeof out, (void *)odd[i], a.peer, (void *)odd[i]));
		completion(&b, (void *)odd[i], NULL);
		completion(&a, (void *)odd[i], NULL);
	}
}

static void arguments(void)
{
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_mr *mr;
	struct fid_fabric *fabric;
	struct fi_fabric_attr empty = {0};
	struct fi_info info = {0};
	struct fi_msg m = {.msg_iov = NULL, .iov_count = 3, .addr = a.peer};
	struct fi_msg_rma r = {.rma_iov = NULL, .rma_iov_count = 5};
	struct fi_msg_atomic at = {.rma_iov = NULL, .rma_iov_count = 5, .datatype = FI_UINT8, .op = FI_SUM};
	struct fi_cq_attr cqa = {.format = 77};
	struct fi_av_attr ava = {.type = 77};
	fi_addr_t addr;
	size_t len = 0;
	FAILS(fi_getinfo(API, NULL, NULL, 0, NULL, NULL), FI_EINVAL);
	IS(fi_fabric(NULL, &fabric, NULL) < 0);
	IS(fi_fabric(&empty, NULL, NULL) < 0);
	IS(fi_endpoint(a.domain, NULL, &ep, NULL) < 0);
	IS(fi_endpoint(a.domain, a.info, NULL, NULL) < 0);
	if (!fi_endpoint(a.domain, &info, &ep, NULL)) // an info without values
		OK(fi_close(&ep->fid));
	IS(fi_cq_open(a.domain, &cqa, &cq, NULL) < 0);
	IS(fi_av_open(a.domain, &ava, &av, NULL) < 0);
	IS(fi_sendmsg(a.ep, NULL, 0) < 0);
	IS(fi_sendmsg(a.ep, &m, 0) < 0);
	m.iov_count = SIZE_MAX;
	IS(fi_sendmsg(a.ep, &m, 0) < 0);
	m.iov_count = 0;
	IS(fi_sendmsg(a.ep, &m, ~0ull) < 0);
	IS(fi_sendmsg(a.ep, &m, FI_TRIGGER) < 0); // without the triggered context
	IS(fi_writemsg(a.ep, &r, 0) < 0);
	IS(fi_readmsg(a.ep, NULL, 0) < 0);
	IS(fi_atomicmsg(a.ep, &at, 0) < 0);
	IS(fi_compare_atomicmsg(a.ep, &at, NULL, NULL, 3, NULL, NULL, 3, 0) < 0);
	IS(fi_atomic(a.ep, out, 1, NULL, a.peer, 0, 0, 9999, 9999, NULL) < 0);
	IS(fi_atomic(a.ep, out, SIZE_MAX, NULL, a.peer, 0, 0, FI_UINT64, FI_SUM, NULL) < 0);
	FAILS(fi_send(a.ep, out, SIZE_MAX, NULL, a.peer, NULL), FI_EOTHER); // a panic in Go, which the test expects
	IS(fi_send(a.ep, out, 1, NULL, 424242, NULL) < 0);
	IS(fi_mr_regv(a.domain, NULL, 3, FI_REMOTE_READ, 0, 1, 0, &mr, NULL) < 0);
	IS(fi_mr_reg(a.domain, out, 10, FI_REMOTE_READ, 0, 1, 0, NULL, NULL) < 0);
	IS(fi_mr_regattr(a.domain, NULL, 0, &mr) < 0);
	IS(fi_av_insert(a.av, NULL, 3, &addr, 0, NULL) <= 0);
	IS(fi_av_insert(a.av, out, SIZE_MAX, &addr, 0, NULL) <= 0);
	IS(fi_av_insertsvc(a.av, NULL, NULL, &addr, 0, NULL) <= 0);
	IS(fi_getname(&a.ep->fid, out, NULL) < 0);
	IS(fi_getopt(&a.ep->fid, 77, 77, out, &len) < 0);
	IS(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, 8) < 0);
	IS(fi_control(&a.ep->fid, 12345, NULL) < 0);
	IS(fi_control(&a.cq->fid, FI_GETWAIT, NULL) < 0);
	IS(fi_control(&a.domain->fid, FI_QUEUE_WORK, NULL) < 0);
	IS(fi_cq_readerr(a.cq, NULL, 0) < 0);
	FAILS(fi_cq_read(a.cq, NULL, 0), FI_EAGAIN);
	IS(fi_ep_bind(a.ep, NULL, 0) < 0);
	IS(fi_ep_bind(a.ep, &a.domain->fid, 0) < 0);
	FAILS(fi_close(&a.domain->fid), FI_EBUSY);
	FAILS(fi_close(&a.fabric->fid), FI_EBUSY);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.caps = FI_MSG | FI_RMA | FI_ATOMIC;
	options.wait_obj = FI_WAIT_FD;
	pair_open();
	contexts();
	arguments();
	contexts();
	pair_close();
	return 0;
}
