// Deferred work and triggered operations.
#include "calls.h"
#include <rdma/fi_trigger.h>

static char buf[64], result[64];

static void queue(void)
{
	struct fid_cntr *c = NULL, *done = NULL;
	struct fi_cntr_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct iovec iov = {buf, 8};
	struct fi_ioc ioc = {buf, 1}, res = {result, 1};
	struct fi_rma_iov rma = {0, 8, 900};
	struct fi_rma_ioc rmaioc = {0, 1, 900};
	struct fi_op_msg msg = {.ep = a.ep, .msg = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer}};
	struct fi_op_tagged tagged = {.ep = a.ep, .msg = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer}};
	struct fi_op_rma op_rma = {.ep = a.ep,
		.msg = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer, .rma_iov = &rma, .rma_iov_count = 1}};
	struct fi_op_atomic atomic = {.ep = a.ep,
		.msg = {.msg_iov = &ioc, .iov_count = 1, .addr = a.peer, .rma_iov = &rmaioc, .rma_iov_count = 1,
		.datatype = FI_UINT64, .op = FI_SUM}};
	struct fi_op_fetch_atomic fetch = {.ep = a.ep, .msg = atomic.msg, .fetch = {.msg_iov = &res, .iov_count = 1}};
	struct fi_op_compare_atomic compare = {.ep = a.ep, .msg = atomic.msg, .fetch = {.msg_iov = &res, .iov_count = 1},
		.compare = {.msg_iov = &res, .iov_count = 1}};
	compare.msg.op = FI_CSWAP;
	if (fi_cntr_open(a.domain, &attr, &c, NULL) || fi_cntr_open(a.domain, &attr, &done, NULL)) {
		where = "no counters";
		struct fi_deferred_work w = {.threshold = 1, .op_type = FI_OP_SEND, .op.msg = &msg};
		CALL(fi_control(&a.domain->fid, FI_QUEUE_WORK, &w));
		CALL(fi_control(&a.domain->fid, FI_FLUSH_WORK, NULL));
		return;
	}
	struct fi_op_cntr cntr = {.cntr = done, .value = 3};
	where = "work";
	for (int type = -1; type < 16; type++) {
		static struct fi_deferred_work works[20];
		struct fi_deferred_work *w = &works[type + 1];
		*w = (struct fi_deferred_work){.threshold = 1000, .triggering_cntr = c,
			.completion_cntr = done, .op_type = type};
		switch (type) {
		case FI_OP_RECV: case FI_OP_SEND: w->op.msg = &msg; break;
		case FI_OP_TRECV: case FI_OP_TSEND: w->op.tagged = &tagged; break;
		case FI_OP_READ: case FI_OP_WRITE: w->op.rma = &op_rma; break;
		case FI_OP_ATOMIC: w->op.atomic = &atomic; break;
		case FI_OP_FETCH_ATOMIC: w->op.fetch_atomic = &fetch; break;
		case FI_OP_COMPARE_ATOMIC: w->op.compare_atomic = &compare; break;
		default: w->op.cntr = &cntr; // also for unknown numbers
		}
		NAMED(fi_control(&a.domain->fid, FI_QUEUE_WORK, w), "FI_QUEUE_WORK, op_type %d", type);
	}
	static struct fi_deferred_work w;
	w = (struct fi_deferred_work){.threshold = 1000, .completion_cntr = done,
		.op_type = FI_OP_CNTR_ADD, .op.cntr = &cntr};
	NAMED(fi_control(&a.domain->fid, FI_QUEUE_WORK, &w), "FI_QUEUE_WORK without a triggering counter");
	CALL(fi_control(&a.domain->fid, FI_CANCEL_WORK, &w));
	CALL(fi_control(&a.domain->fid, FI_QUEUE_WORK, NULL));
	CALL(fi_control(&a.domain->fid, FI_CANCEL_WORK, NULL));
	CALL(fi_control(&a.domain->fid, FI_FLUSH_WORK, NULL));
	CALL(fi_control(&a.domain->fid, FI_FLUSH_WORK, NULL));
	CALL(fi_close(&c->fid));
	CALL(fi_close(&done->fid));
}

void work_calls(void)
{
	struct fi_info *probe = NULL;
	uint64_t before = options.caps;
	if (options.type == FI_EP_RDM)
		options.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER;
	struct fi_info *h = hints_for();
	where = "trigger";
	CALL(fi_getinfo(API, "127.0.0.1", NULL, FI_SOURCE, h, &probe));
	if (!probe)
		options.caps = before;
	fi_freeinfo(probe);
	fi_freeinfo(h);
	pair_open();
	drain();
	queue();
}
