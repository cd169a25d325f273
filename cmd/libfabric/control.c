//go:build linux

// The calls that open objects and set them up (fi_fabric(3), fi_domain(3), fi_mr(3), fi_av(3), fi_endpoint(3), fi_cm(3)).
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

#define ALIVE if (gf_forked) return -FI_EOPBADSTATE

static int fabric_domain2(struct fid_fabric *f, struct fi_info *info, struct fid_domain **d, uint64_t flags, void *context)
{
	ALIVE;
	return flags ? -FI_ENOSYS : goDomain(GF_ID(f), info, (void **)d, context);
}

static int fabric_domain(struct fid_fabric *f, struct fi_info *info, struct fid_domain **d, void *context) { return fabric_domain2(f, info, d, 0, context); }

static int fabric_passive_ep(struct fid_fabric *f, struct fi_info *info, struct fid_pep **p, void *context)
{
	ALIVE;
	return goPassiveEP(GF_ID(f), info, (void **)p, context);
}

static int fabric_eq_open(struct fid_fabric *f, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
	ALIVE;
	return goEQOpen(GF_ID(f), attr, (void **)eq, context);
}

static int fabric_wait_open(struct fid_fabric *f, struct fi_wait_attr *attr, struct fid_wait **w)
{
	ALIVE;
	return goWaitOpen(GF_ID(f), attr, (void **)w);
}

static int fabric_trywait(struct fid_fabric *f, struct fid **fids, int count)
{
	ALIVE;
	return goTryWait(GF_ID(f), (void **)fids, count);
}

struct fi_ops_fabric gf_fabric_ops = {sizeof gf_fabric_ops, fabric_domain, fabric_passive_ep, fabric_eq_open, fabric_wait_open, fabric_trywait, fabric_domain2};

static int domain_av_open(struct fid_domain *d, struct fi_av_attr *attr, struct fid_av **av, void *context)
{
	ALIVE;
	return goAVOpen(GF_ID(d), attr, (void **)av, context);
}

static int domain_cq_open(struct fid_domain *d, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
	ALIVE;
	return goCQOpen(GF_ID(d), attr, (void **)cq, context);
}

static int domain_endpoint(struct fid_domain *d, struct fi_info *info, struct fid_ep **ep, void *context)
{
	ALIVE;
	return goEndpoint(GF_ID(d), info, (void **)ep, 0, context);
}

static int domain_endpoint2(struct fid_domain *d, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context)
{
	ALIVE;
	return flags ? -FI_ENOSYS : goEndpoint(GF_ID(d), info, (void **)ep, 0, context);
}

static int domain_scalable_ep(struct fid_domain *d, struct fi_info *info, struct fid_ep **ep, void *context)
{
	ALIVE;
	return goEndpoint(GF_ID(d), info, (void **)ep, 1, context);
}

static int domain_cntr_open(struct fid_domain *d, struct fi_cntr_attr *attr, struct fid_cntr **c, void *context)
{
	ALIVE;
	return goCntrOpen(GF_ID(d), attr, (void **)c, context);
}

static int domain_poll_open(struct fid_domain *d, struct fi_poll_attr *attr, struct fid_poll **p)
{
	ALIVE;
	return goPollOpen(GF_ID(d), attr, (void **)p);
}

static int domain_stx_ctx(struct fid_domain *d, struct fi_tx_attr *attr, struct fid_stx **stx, void *context)
{
	ALIVE;
	return goSTX(GF_ID(d), attr, (void **)stx, context);
}

static int domain_srx_ctx(struct fid_domain *d, struct fi_rx_attr *attr, struct fid_ep **ep, void *context)
{
	ALIVE;
	return goSRX(GF_ID(d), attr, (void **)ep, context);
}

static int domain_query_atomic(struct fid_domain *d, int datatype, int op, struct fi_atomic_attr *attr, uint64_t flags)
{
	ALIVE;
	return goQueryAtomic(GF_ID(d), datatype, op, attr, flags);
}

static int domain_query_collective(struct fid_domain *d, int coll, struct fi_collective_attr *attr, uint64_t flags)
{
	ALIVE;
	return goQueryCollective(GF_ID(d), coll, attr, flags);
}

static int domain_xpu_ctx(struct fid_domain *d, void *attr, void **ctx, void *context) { return -FI_ENOSYS; }

struct fi_ops_domain gf_domain_ops = {sizeof gf_domain_ops, domain_av_open, domain_cq_open, domain_endpoint, domain_scalable_ep, domain_cntr_open,
	domain_poll_open, domain_stx_ctx, domain_srx_ctx, domain_query_atomic, domain_query_collective, domain_endpoint2, domain_xpu_ctx};

static int mr_regattr(fid_t f, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr)
{
	ALIVE;
	return goMRReg(GF_ID(f), (struct fi_mr_attr *)attr, flags, (void **)mr, 1);
}

static int mr_regv(fid_t f, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = count, .access = access, .offset = offset, .requested_key = key, .context = context};
	ALIVE;
	return goMRReg(GF_ID(f), &attr, flags, (void **)mr, 0);
}

static int mr_reg(fid_t f, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = {(void *)buf, len};
	return mr_regv(f, &iov, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr gf_mr_ops = {sizeof gf_mr_ops, mr_reg, mr_regv, mr_regattr};

static int av_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	ALIVE;
	return goAVInsert(GF_ID(av), (void *)addr, count, fi_addr, flags, context);
}

static int av_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	ALIVE;
	return goAVInsertSym(GF_ID(av), (char *)node, 1, (char *)service, 1, fi_addr, flags, context, 1);
}

static int av_insertsym(struct fid_av *av, const char *node, size_t nodecnt, const char *service, size_t svccnt, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	ALIVE;
	return goAVInsertSym(GF_ID(av), (char *)node, nodecnt, (char *)service, svccnt, fi_addr, flags, context, 0);
}

static int av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	ALIVE;
	return goAVRemove(GF_ID(av), fi_addr, count, flags);
}

static int av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr, size_t *len)
{
	ALIVE;
	return goAVLookup(GF_ID(av), fi_addr, addr, len);
}

static const char *av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
{
	if (gf_forked)
		return NULL;
	return goAVStrAddr(GF_ID(av), (void *)addr, buf, len);
}

static int av_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set, void *context)
{
	ALIVE;
	return goAVSet(GF_ID(av), attr, (void **)set, context);
}

static int av_insert_auth_key(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr, uint64_t flags)
{
	ALIVE;
	return goAVInsertAuthKey(GF_ID(av), (void *)key, size, fi_addr, flags);
}

static int av_lookup_auth_key(struct fid_av *av, fi_addr_t fi_addr, void *key, size_t *size)
{
	ALIVE;
	return goAVLookupAuthKey(GF_ID(av), fi_addr, key, size);
}

static int av_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t id, uint64_t flags)
{
	ALIVE;
	return goAVSetUserID(GF_ID(av), fi_addr, id, flags);
}

static int av_lookup2(struct fid_av *av, fi_addr_t fi_addr, void *buf, size_t *len, uint64_t flags, void *xpu) { return -FI_ENOSYS; }

struct fi_ops_av gf_av_ops = {sizeof gf_av_ops, av_insert, av_insertsvc, av_insertsym, av_remove, av_lookup, av_straddr, av_av_set, av_insert_auth_key,
	av_lookup_auth_key, av_set_user_id, av_lookup2};

static int set_with(struct fid_av_set *dst, int op, const struct fid_av_set *src)
{
	ALIVE;
	return src ? goAVSetWith(GF_ID(dst), op, GF_ID(src)) : -FI_EINVAL;
}

static int set_member(struct fid_av_set *s, int op, fi_addr_t a)
{
	ALIVE;
	return goAVSetMember(GF_ID(s), op, a);
}

static int set_union(struct fid_av_set *dst, const struct fid_av_set *src) { return set_with(dst, 0, src); }
static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src) { return set_with(dst, 1, src); }
static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src) { return set_with(dst, 2, src); }
static int set_insert(struct fid_av_set *s, fi_addr_t a) { return set_member(s, 0, a); }
static int set_remove(struct fid_av_set *s, fi_addr_t a) { return set_member(s, 1, a); }

static int set_addr(struct fid_av_set *s, fi_addr_t *a)
{
	ALIVE;
	return a ? goAVSetAddr(GF_ID(s), a) : -FI_EINVAL;
}

struct fi_ops_av_set gf_av_set_ops = {sizeof gf_av_set_ops, set_union, set_intersect, set_diff, set_insert, set_remove, set_addr};

static ssize_t ep_cancel(fid_t f, void *context)
{
	ALIVE;
	return goCancel(GF_ID(f), (uintptr_t)context);
}

static int ep_getopt(fid_t f, int level, int name, void *val, size_t *len)
{
	ALIVE;
	return goGetOpt(GF_ID(f), level, name, val, len);
}

static int ep_setopt(fid_t f, int level, int name, const void *val, size_t len)
{
	ALIVE;
	return goSetOpt(GF_ID(f), level, name, (void *)val, len);
}

static int ep_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep, void *context)
{
	ALIVE;
	return goTxContext(GF_ID(sep), index, attr, (void **)ep, context);
}

static int ep_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep, void *context)
{
	ALIVE;
	return goRxContext(GF_ID(sep), index, attr, (void **)ep, context);
}

static ssize_t ep_rx_size_left(struct fid_ep *ep)
{
	ALIVE;
	return goSizeLeft(GF_ID(ep), 0);
}

static ssize_t ep_tx_size_left(struct fid_ep *ep)
{
	ALIVE;
	return goSizeLeft(GF_ID(ep), 1);
}

static int ep_export_xpu(struct fid_ep *ep, uint64_t flags, void *xpu) { return -FI_ENOSYS; }

struct fi_ops_ep gf_ep_ops = {sizeof gf_ep_ops, ep_cancel, ep_getopt, ep_setopt, ep_tx_ctx, ep_rx_ctx, ep_rx_size_left, ep_tx_size_left, ep_export_xpu};

static int cm_setname(fid_t f, void *addr, size_t len)
{
	ALIVE;
	return goSetName(GF_ID(f), addr, len);
}

static int cm_getname(fid_t f, void *addr, size_t *len)
{
	ALIVE;
	return goGetName(GF_ID(f), addr, len, 0);
}

static int cm_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	ALIVE;
	return goGetName(GF_ID(ep), addr, len, 1);
}

static int cm_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	ALIVE;
	return goConnect(GF_ID(ep), (void *)addr, (void *)param, len);
}

static int cm_listen(struct fid_pep *pep)
{
	ALIVE;
	return goListen(GF_ID(pep));
}

static int cm_accept(struct fid_ep *ep, const void *param, size_t len)
{
	ALIVE;
	return goAccept(GF_ID(ep), (void *)param, len);
}

static int cm_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	ALIVE;
	return goReject(GF_ID(pep), handle ? GF_ID(handle) : 0, (void *)param, len);
}

static int cm_shutdown(struct fid_ep *ep, uint64_t flags)
{
	ALIVE;
	return flags ? -FI_EINVAL : goShutdown(GF_ID(ep));
}

static int cm_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context)
{
	ALIVE;
	return goJoin(GF_ID(ep), (void *)addr, flags, (void **)mc, context);
}

struct fi_ops_cm gf_cm_ops = {sizeof gf_cm_ops, cm_setname, cm_getname, cm_getpeer, cm_connect, cm_listen, cm_accept, cm_reject, cm_shutdown, cm_join};
