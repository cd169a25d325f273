//go:build linux

// Transfers: messages, tagged messages and remote memory access (fi_msg(3), fi_tagged(3), fi_rma(3)). Each makes
// one call into Go, except receives without flags, which make none.
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

#define ALIVE if (gf_forked) return -FI_EOPBADSTATE
#define FI_REMOTE_CQ_DATA (1ull << 17)
#define U(p) ((uintptr_t)(p))

// msg_one and tagged_one turn calls with one buffer into calls with flags.
static ssize_t msg_one(struct fid_ep *ep, int op, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t peer, void *context, uint64_t flags)
{
	struct iovec iov = {(void *)buf, len};
	struct fi_msg m = {&iov, &desc, 1, peer, context, data};
	return goMsgV(GF_ID(ep), op, &m, flags);
}

static ssize_t tagged_one(struct fid_ep *ep, int op, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t peer, uint64_t tag, uint64_t ignore,
			  void *context, uint64_t flags)
{
	struct iovec iov = {(void *)buf, len};
	struct fi_msg_tagged m = {&iov, &desc, 1, peer, tag, ignore, context, data};
	return goTaggedV(GF_ID(ep), op, &m, flags);
}

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, void *context)
{
	ALIVE;
	if (GF_RX_TRIGGER(ep))
		return msg_one(ep, GF_RECVMSG, buf, len, desc, 0, src, context, GF_RX_TRIGGER(ep));
	if (gf_leave(ep, buf, len, src, 0, 0, context, 0))
		return 0;
	return goRecv(GF_ID(ep), buf, len, U(desc), src, U(context));
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, void *context)
{
	struct fi_msg m = {iov, desc, count, src, context, 0};
	ALIVE;
	if (GF_RX_TRIGGER(ep))
		return goMsgV(GF_ID(ep), GF_RECVMSG, &m, GF_RX_TRIGGER(ep));
	return goMsgV(GF_ID(ep), GF_RECVV, &m, 0);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	ALIVE;
	return goMsgV(GF_ID(ep), GF_RECVMSG, (struct fi_msg *)m, flags);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return msg_one(ep, GF_SENDMSG, buf, len, desc, 0, dest, context, GF_TX_TRIGGER(ep));
	return goSend(GF_ID(ep), (void *)buf, len, U(desc), dest, U(context));
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, void *context)
{
	struct fi_msg m = {iov, desc, count, dest, context, 0};
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return goMsgV(GF_ID(ep), GF_SENDMSG, &m, GF_TX_TRIGGER(ep));
	return goMsgV(GF_ID(ep), GF_SENDV, &m, 0);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	ALIVE;
	return goMsgV(GF_ID(ep), GF_SENDMSG, (struct fi_msg *)m, flags);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	ALIVE;
	return goInject(GF_ID(ep), (void *)buf, len, dest);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return msg_one(ep, GF_SENDMSG, buf, len, desc, data, dest, context, GF_TX_TRIGGER(ep) | FI_REMOTE_CQ_DATA);
	return goSendData(GF_ID(ep), (void *)buf, len, U(desc), data, dest, U(context));
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	ALIVE;
	return goInjectData(GF_ID(ep), (void *)buf, len, data, dest);
}

struct fi_ops_msg gf_msg_ops = {sizeof gf_msg_ops, msg_recv, msg_recvv, msg_recvmsg, msg_send, msg_sendv, msg_sendmsg, msg_inject, msg_senddata,
	msg_injectdata};

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	ALIVE;
	if (GF_RX_TRIGGER(ep))
		return tagged_one(ep, GF_RECVMSG, buf, len, desc, 0, src, tag, ignore, context, GF_RX_TRIGGER(ep));
	if (gf_leave(ep, buf, len, src, tag, ignore, context, 1))
		return 0;
	return goTRecv(GF_ID(ep), buf, len, U(desc), src, tag, ignore, U(context));
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct fi_msg_tagged m = {iov, desc, count, src, tag, ignore, context, 0};
	ALIVE;
	if (GF_RX_TRIGGER(ep))
		return goTaggedV(GF_ID(ep), GF_RECVMSG, &m, GF_RX_TRIGGER(ep));
	return goTaggedV(GF_ID(ep), GF_RECVV, &m, 0);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	ALIVE;
	return goTaggedV(GF_ID(ep), GF_RECVMSG, (struct fi_msg_tagged *)m, flags);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return tagged_one(ep, GF_SENDMSG, buf, len, desc, 0, dest, tag, 0, context, GF_TX_TRIGGER(ep));
	return goTSend(GF_ID(ep), (void *)buf, len, U(desc), dest, tag, U(context));
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag, void *context)
{
	struct fi_msg_tagged m = {iov, desc, count, dest, tag, 0, context, 0};
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return goTaggedV(GF_ID(ep), GF_SENDMSG, &m, GF_TX_TRIGGER(ep));
	return goTaggedV(GF_ID(ep), GF_SENDV, &m, 0);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	ALIVE;
	return goTaggedV(GF_ID(ep), GF_SENDMSG, (struct fi_msg_tagged *)m, flags);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	ALIVE;
	return goTInject(GF_ID(ep), (void *)buf, len, dest, tag);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return tagged_one(ep, GF_SENDMSG, buf, len, desc, data, dest, tag, 0, context, GF_TX_TRIGGER(ep) | FI_REMOTE_CQ_DATA);
	return goTSendData(GF_ID(ep), (void *)buf, len, U(desc), data, dest, tag, U(context));
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag)
{
	ALIVE;
	return goTInjectData(GF_ID(ep), (void *)buf, len, data, dest, tag);
}

struct fi_ops_tagged gf_tagged_ops = {sizeof gf_tagged_ops, tagged_recv, tagged_recvv, tagged_recvmsg, tagged_send, tagged_sendv, tagged_sendmsg,
	tagged_inject, tagged_senddata, tagged_injectdata};

static ssize_t rma_v(struct fid_ep *ep, int op, const struct iovec *iov, void **desc, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov r = {addr, 0, key};
	struct fi_msg_rma m = {iov, desc, count, peer, &r, 1, context, 0};
	ALIVE;
	for (size_t i = 0; i < count; i++)
		r.len += iov[i].iov_len;
	if (GF_TX_TRIGGER(ep))
		return goRMAV(GF_ID(ep), op + 1, &m, GF_TX_TRIGGER(ep)); // GF_RECVMSG, GF_SENDMSG
	return goRMAV(GF_ID(ep), op, &m, 0);
}

static ssize_t rma_one(struct fid_ep *ep, int op, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key,
		       void *context, uint64_t flags)
{
	struct iovec iov = {(void *)buf, len};
	struct fi_rma_iov r = {addr, len, key};
	struct fi_msg_rma m = {&iov, &desc, 1, peer, &r, 1, context, data};
	return goRMAV(GF_ID(ep), op, &m, flags);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return rma_one(ep, GF_RECVMSG, buf, len, desc, 0, src, addr, key, context, GF_TX_TRIGGER(ep));
	return goRead(GF_ID(ep), buf, len, U(desc), src, addr, key, U(context));
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	return rma_v(ep, GF_RECVV, iov, desc, count, src, addr, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
	ALIVE;
	return goRMAV(GF_ID(ep), GF_RECVMSG, (struct fi_msg_rma *)m, flags);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return rma_one(ep, GF_SENDMSG, buf, len, desc, 0, dest, addr, key, context, GF_TX_TRIGGER(ep));
	return goWrite(GF_ID(ep), (void *)buf, len, U(desc), dest, addr, key, U(context));
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	return rma_v(ep, GF_SENDV, iov, desc, count, dest, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
	ALIVE;
	return goRMAV(GF_ID(ep), GF_SENDMSG, (struct fi_msg_rma *)m, flags);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	ALIVE;
	return goInjectWrite(GF_ID(ep), (void *)buf, len, dest, addr, key);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			     void *context)
{
	ALIVE;
	if (GF_TX_TRIGGER(ep))
		return rma_one(ep, GF_SENDMSG, buf, len, desc, data, dest, addr, key, context, GF_TX_TRIGGER(ep) | FI_REMOTE_CQ_DATA);
	return goWriteData(GF_ID(ep), (void *)buf, len, U(desc), data, dest, addr, key, U(context));
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	ALIVE;
	return goInjectWriteData(GF_ID(ep), (void *)buf, len, data, dest, addr, key);
}

struct fi_ops_rma gf_rma_ops = {sizeof gf_rma_ops, rma_read, rma_readv, rma_readmsg, rma_write, rma_writev, rma_writemsg, rma_inject, rma_writedata,
	rma_injectdata};
