//go:build linux

// Atomic operations (fi_atomic(3)). Each call becomes the one that takes structures.
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

#define ALIVE if (gf_forked) return -FI_EOPBADSTATE

// count_of returns the number of operands in an array.
static size_t count_of(const struct fi_ioc *iov, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += iov[i].count;
	return sum;
}

// post is common to all calls. resultv is NULL if the operation fetches nothing, comparev if it does not compare.
// Plain calls use the endpoint's flags.
static ssize_t post(struct fid_ep *ep, const struct fi_msg_atomic *m, struct fi_ioc *resultv, void **result_desc, size_t result_count,
		    const struct fi_ioc *comparev, void **compare_desc, size_t compare_count, uint64_t flags, int plain)
{
	struct fi_msg_fetch fetch = {resultv, result_desc, result_count};
	struct fi_msg_compare compare = {comparev, compare_desc, compare_count};
	ALIVE;
	return goAtomic(GF_ID(ep), (struct fi_msg_atomic *)m, resultv ? &fetch : NULL, comparev ? &compare : NULL, flags, plain);
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, int datatype,
			     int op, void *context)
{
	struct fi_rma_ioc r = {addr, count_of(iov, count), key};
	struct fi_msg_atomic m = {iov, desc, count, dest, &r, 1, datatype, op, context, 0};
	return post(ep, &m, NULL, NULL, 0, NULL, NULL, 0, 0, 1);
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key, int datatype, int op,
			    void *context)
{
	struct fi_ioc iov = {(void *)buf, count};
	return atomic_writev(ep, &iov, &desc, 1, dest, addr, key, datatype, op, context);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *m, uint64_t flags)
{
	return post(ep, m, NULL, NULL, 0, NULL, NULL, 0, flags, 0);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, int datatype, int op)
{
	ALIVE;
	return goInjectAtomic(GF_ID(ep), (void *)buf, count, dest, addr, key, datatype, op);
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key, int datatype, int op, void *context)
{
	struct fi_rma_ioc r = {addr, count_of(resultv, result_count), key};
	struct fi_msg_atomic m = {iov, desc, count, dest, &r, 1, datatype, op, context, 0};
	return resultv ? post(ep, &m, resultv, result_desc, result_count, NULL, NULL, 0, 0, 1) : -FI_EINVAL;
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
				uint64_t key, int datatype, int op, void *context)
{
	struct fi_ioc iov = {(void *)buf, count}, res = {result, count};
	return atomic_readwritev(ep, &iov, &desc, 1, &res, &result_desc, 1, dest, addr, key, datatype, op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *m, struct fi_ioc *resultv, void **result_desc, size_t result_count,
				   uint64_t flags)
{
	return resultv ? post(ep, m, resultv, result_desc, result_count, NULL, NULL, 0, flags, 0) : -FI_EINVAL;
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc, size_t result_count, fi_addr_t dest, uint64_t addr,
				 uint64_t key, int datatype, int op, void *context)
{
	struct fi_rma_ioc r = {addr, count_of(iov, count), key};
	struct fi_msg_atomic m = {iov, desc, count, dest, &r, 1, datatype, op, context, 0};
	return resultv && comparev ? post(ep, &m, resultv, result_desc, result_count, comparev, compare_desc, compare_count, 0, 1) : -FI_EINVAL;
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key, int datatype, int op, void *context)
{
	struct fi_ioc iov = {(void *)buf, count}, cmp = {(void *)compare, count}, res = {result, count};
	return atomic_compwritev(ep, &iov, &desc, 1, &cmp, &compare_desc, 1, &res, &result_desc, 1, dest, addr, key, datatype, op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *m, const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
				   struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	return resultv && comparev ? post(ep, m, resultv, result_desc, result_count, comparev, compare_desc, compare_count, flags, 0) : -FI_EINVAL;
}

static int valid(struct fid_ep *ep, int kind, int datatype, int op, size_t *count)
{
	ALIVE;
	return goAtomicValid(GF_ID(ep), kind, datatype, op, count);
}

static int atomic_writevalid(struct fid_ep *ep, int datatype, int op, size_t *count) { return valid(ep, 0, datatype, op, count); }
static int atomic_readwritevalid(struct fid_ep *ep, int datatype, int op, size_t *count) { return valid(ep, 1, datatype, op, count); }
static int atomic_compwritevalid(struct fid_ep *ep, int datatype, int op, size_t *count) { return valid(ep, 2, datatype, op, count); }

struct fi_ops_atomic gf_atomic_ops = {sizeof gf_atomic_ops, atomic_write, atomic_writev, atomic_writemsg, atomic_inject, atomic_readwrite, atomic_readwritev,
	atomic_readwritemsg, atomic_compwrite, atomic_compwritev, atomic_compwritemsg, atomic_writevalid, atomic_readwritevalid, atomic_compwritevalid};
