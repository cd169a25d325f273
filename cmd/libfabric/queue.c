//go:build linux

// Completion queues, counters, event queues, wait sets and poll sets (fi_cq(3), fi_cntr(3), fi_eq(3), fi_poll(3)).
#include <sched.h>
#include <string.h>
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

// Several threads may read the ring of a queue (FI_THREAD_SAFE). No thread sleeps or enters a waiting call with the
// lock held, so that a waiter only yields.
static void lock(struct gf_cq *q)
{
	while (__atomic_exchange_n(&q->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(struct gf_cq *q) { __atomic_store_n(&q->lock, 0, __ATOMIC_RELEASE); }

static size_t entry_size(int format)
{
	switch (format) {
	case 1: return 8;  // FI_CQ_FORMAT_CONTEXT
	case 2: return 24; // FI_CQ_FORMAT_MSG
	case 3: return 40; // FI_CQ_FORMAT_DATA
	}
	return sizeof(struct fi_cq_tagged_entry);
}

// take moves up to count completions of the ring to buf. The entry of each format is the beginning of the next
// one's and of gf_comp (fi_cq(3)).
static ssize_t take(struct gf_cq *q, char *buf, size_t count, fi_addr_t *src)
{
	size_t n = q->tail - q->head, size = entry_size(q->format);
	if (n > count)
		n = count;
	for (size_t i = 0; i < n; i++) {
		struct gf_comp *c = &q->ring[q->head + i];
		memcpy(buf + i * size, c, size);
		if (src)
			src[i] = c->src;
	}
	q->head += n;
	return n;
}

// told records whether a poll was empty, and returns its result.
static ssize_t told(ssize_t n, ssize_t nothing)
{
	if (n == nothing)
		gf_vain();
	else
		gf_found();
	return n;
}

// read_some is a read that does not wait: it returns completions that were read ahead, or those of one pass.
static ssize_t read_some(struct gf_cq *q, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t n;
	lock(q);
	if (!count) { // progress only: 0 means that there is something to read
		n = goCQFill(GF_ID(q), q->ring, 0);
		if (n == -FI_EAGAIN && q->head != q->tail)
			n = 0;
		unlock(q);
		return n;
	}
	if (q->head == q->tail) {
		n = goCQFill(GF_ID(q), q->ring, GF_RING);
		if (n <= 0) {
			unlock(q);
			return n ? n : -FI_EAGAIN;
		}
		q->head = 0;
		q->tail = n;
	}
	n = take(q, buf, count, src);
	unlock(q);
	return n;
}

static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	return gf_forked ? -FI_EOPBADSTATE : told(read_some((struct gf_cq *)cq, buf, count, src), -FI_EAGAIN);
}

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count) { return cq_readfrom(cq, buf, count, NULL); }

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *e, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : goCQReadErr(GF_ID(cq), e, flags);
}

// cq_sreadfrom waits in Go until there is a completion, and reads it here. Another reader may have taken it
// meanwhile.
static ssize_t cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src, const void *cond, int timeout)
{
	struct gf_cq *q = (struct gf_cq *)cq;
	if (gf_forked)
		return -FI_EOPBADSTATE;
	ssize_t n = read_some(q, buf, count, src);
	if (n != -FI_EAGAIN)
		return n;
	struct gf_comp got[GF_RING];
	n = goCQWait(GF_ID(q), got, count < GF_RING ? count : GF_RING, timeout);
	size_t size = entry_size(q->format);
	for (ssize_t i = 0; i < n; i++) {
		memcpy((char *)buf + i * size, &got[i], size);
		if (src)
			src[i] = got[i].src;
	}
	return n;
}

static ssize_t cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(cq, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *cq) { return gf_forked ? -FI_EOPBADSTATE : goCQSignal(GF_ID(cq)); }

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return gf_forked ? "" : goStrError(GF_ID(cq), prov_errno, buf, len);
}

static int cq_export_xpu(struct fid_cq *cq, uint64_t flags, void *xpu) { return -FI_ENOSYS; }

struct fi_ops_cq gf_cq_ops = {sizeof gf_cq_ops, cq_read, cq_readfrom, cq_readerr, cq_sread, cq_sreadfrom, cq_signal, cq_strerror, cq_export_xpu};

static uint64_t cntr_read(struct fid_cntr *cntr)
{
	struct gf_cntr *c = (struct gf_cntr *)cntr;
	if (gf_forked)
		return 0;
	uint64_t n = goCntrRead(GF_ID(c)), seen = __atomic_load_n(&c->seen, __ATOMIC_RELAXED);
	if (n != seen)
		__atomic_store_n(&c->seen, n, __ATOMIC_RELAXED);
	told(n != seen, 0);
	return n;
}

static uint64_t cntr_readerr(struct fid_cntr *c) { return gf_forked ? 0 : goCntrReadErr(GF_ID(c)); }
static int cntr_change(struct fid_cntr *c, int what, uint64_t v) { return gf_forked ? -FI_EOPBADSTATE : goCntrChange(GF_ID(c), what, v); }
static int cntr_add(struct fid_cntr *c, uint64_t v) { return cntr_change(c, 0, v); }
static int cntr_set(struct fid_cntr *c, uint64_t v) { return cntr_change(c, 1, v); }
static int cntr_adderr(struct fid_cntr *c, uint64_t v) { return cntr_change(c, 2, v); }
static int cntr_seterr(struct fid_cntr *c, uint64_t v) { return cntr_change(c, 3, v); }

static int cntr_wait(struct fid_cntr *c, uint64_t threshold, int timeout)
{
	return gf_forked ? -FI_EOPBADSTATE : goCntrWait(GF_ID(c), threshold, timeout);
}

static int cntr_export_xpu(struct fid_cntr *c, uint64_t flags, void *xpu) { return -FI_ENOSYS; }

struct fi_ops_cntr gf_cntr_ops = {sizeof gf_cntr_ops, cntr_read, cntr_readerr, cntr_add, cntr_set, cntr_wait, cntr_adderr, cntr_seterr, cntr_export_xpu};

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : told(goEQRead(GF_ID(eq), event, buf, len, flags), -FI_EAGAIN);
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *e, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : goEQReadErr(GF_ID(eq), e, flags);
}

static ssize_t eq_write(struct fid_eq *eq, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : goEQWrite(GF_ID(eq), event, (void *)buf, len, flags);
}

static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : goEQSRead(GF_ID(eq), event, buf, len, timeout, flags);
}

static const char *eq_strerror(struct fid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return gf_forked ? "" : goStrError(GF_ID(eq), prov_errno, buf, len);
}

struct fi_ops_eq gf_eq_ops = {sizeof gf_eq_ops, eq_read, eq_readerr, eq_write, eq_sread, eq_strerror};

static int wait_wait(struct fid_wait *w, int timeout) { return gf_forked ? -FI_EOPBADSTATE : goWaitWait(GF_ID(w), timeout); }

struct fi_ops_wait gf_wait_ops = {sizeof gf_wait_ops, wait_wait};

static int poll_poll(struct fid_poll *p, void **context, int count)
{
	return gf_forked ? -FI_EOPBADSTATE : told(goPollPoll(GF_ID(p), context, count), 0);
}

static int poll_add(struct fid_poll *p, fid_t f, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : f ? goPollChange(GF_ID(p), GF_ID(f), 1, flags) : -FI_EINVAL;
}

static int poll_del(struct fid_poll *p, fid_t f, uint64_t flags)
{
	return gf_forked ? -FI_EOPBADSTATE : f ? goPollChange(GF_ID(p), GF_ID(f), 0, flags) : -FI_EINVAL;
}

struct fi_ops_poll gf_poll_ops = {sizeof gf_poll_ops, poll_poll, poll_add, poll_del};
