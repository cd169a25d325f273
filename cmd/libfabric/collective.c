//go:build linux

// Collective operations (fi_collective(3)). Each call fills in one structure.
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

#define ALIVE if (gf_forked) return -FI_EOPBADSTATE
#define U(p) ((uintptr_t)(p))

static ssize_t run(struct fid_ep *ep, struct gf_coll c)
{
	ALIVE;
	return goCollective(GF_ID(ep), &c);
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t coll, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_BARRIER, .coll = coll, .flags = flags, .context = U(context)});
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t coll, void *context) { return coll_barrier2(ep, coll, 0, context); }

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t coll, fi_addr_t root, int datatype, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_BROADCAST, .buf = buf, .count = count, .desc = U(desc), .coll = coll, .root = root, .datatype = datatype,
		.flags = flags, .context = U(context)});
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
			     uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_ALLTOALL, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .datatype = datatype, .flags = flags, .context = U(context)});
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
			      int op, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_ALLREDUCE, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .datatype = datatype, .op = op, .flags = flags, .context = U(context)});
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
			      uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_ALLGATHER, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .datatype = datatype, .flags = flags, .context = U(context)});
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
				   int op, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_REDUCE_SCATTER, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .datatype = datatype, .op = op, .flags = flags, .context = U(context)});
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   int datatype, int op, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_REDUCE, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .root = root, .datatype = datatype, .op = op, .flags = flags, .context = U(context)});
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			    int datatype, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_SCATTER, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .root = root, .datatype = datatype, .flags = flags, .context = U(context)});
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   int datatype, uint64_t flags, void *context)
{
	return run(ep, (struct gf_coll){.what = GF_GATHER, .buf = (void *)buf, .count = count, .desc = U(desc), .result = result,
		.result_desc = U(result_desc), .coll = coll, .root = root, .datatype = datatype, .flags = flags, .context = U(context)});
}

// coll_msg takes one buffer and one result. No operation with a call of its own has more.
static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *m, struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	if (m->iov_count > 1 || result_count > 1)
		return -FI_EINVAL;
	struct gf_coll c = {.what = m->coll, .coll = m->coll_addr, .root = m->root_addr, .datatype = m->datatype, .op = m->op, .flags = flags,
		.context = U(m->context)};
	if (m->iov_count) {
		c.buf = m->msg_iov->addr;
		c.count = m->msg_iov->count;
		c.desc = m->desc ? U(m->desc[0]) : 0;
	}
	if (result_count) {
		c.result = resultv->addr;
		c.result_desc = result_desc ? U(result_desc[0]) : 0;
	}
	return run(ep, c);
}

struct fi_ops_collective gf_collective_ops = {sizeof gf_collective_ops, coll_barrier, coll_broadcast, coll_alltoall, coll_allreduce, coll_allgather,
	coll_reduce_scatter, coll_reduce, coll_scatter, coll_gather, coll_msg, coll_barrier2};
