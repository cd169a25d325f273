// Triggered operations and deferred work (fi_trigger(3)).
#include "pair.h"

static char out[64], in[64];
static struct fi_context2 ctx[8];
static struct fid_cntr *trigger, *done;

static struct fid_cntr *counter(void)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct fid_cntr *c;
	OK(fi_cntr_open(a.domain, &attr, &c, NULL));
	return c;
}

static void triggered(void)
{
	static struct fi_triggered_context t;
	struct iovec iov = {out, 32};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer, .context = &t};
	t.event_type = FI_TRIGGER_THRESHOLD;
	t.trigger.threshold.cntr = trigger;
	t.trigger.threshold.threshold = 2;
	fill(out, 32, 1);
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	OK(fi_sendmsg(a.ep, &m, FI_TRIGGER | FI_COMPLETION));
	OK(fi_cntr_add(trigger, 1));
	for (int i = 0; i < 50; i++)
		progress(__FILE__, __LINE__);
	EQUAL(b.ndone, 0);
	OK(fi_cntr_add(trigger, 1));
	completion(&b, &ctx[0], NULL);
	completion(&a, &t, NULL);
	same(in, 32, 1);
}

static void wait_for(struct fid_cntr *c, uint64_t n)
{
	uint64_t end = now_ms() + 10000;
	while (fi_cntr_read(c) < n) {
		progress(__FILE__, __LINE__);
		IS(now_ms() < end);
	}
	EQUAL(fi_cntr_read(c), n);
}

static void deferred(void)
{
	struct iovec iov = {out, 32};
	struct fi_op_tagged tagged = {.ep = a.ep,
		.msg = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer, .tag = 7, .context = &ctx[1]}, .flags = FI_COMPLETION};
	struct fi_op_cntr add = {.cntr = done, .value = 10};
	static struct fi_deferred_work send, more, never;
	fill(out, 32, 2);
	send.threshold = 3;
	send.triggering_cntr = trigger;
	send.completion_cntr = done;
	send.op_type = FI_OP_TSEND;
	send.op.tagged = &tagged;
	more.threshold = 1;
	more.triggering_cntr = done; // triggered when the send is done
	more.op_type = FI_OP_CNTR_ADD;
	more.op.cntr = &add;
	never = send;
	never.threshold = 1000;
	POST(fi_trecv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, 7, 0, &ctx[0]));
	OK(fi_control(&a.domain->fid, FI_QUEUE_WORK, &send));
	OK(fi_control(&a.domain->fid, FI_QUEUE_WORK, &more));
	OK(fi_control(&a.domain->fid, FI_QUEUE_WORK, &never));
	EQUAL(fi_cntr_read(done), 0);
	OK(fi_cntr_add(trigger, 1));
	wait_for(done, 11);
	completion(&b, &ctx[0], NULL);
	same(in, 32, 2);
	completion(&a, &ctx[1], NULL);
	OK(fi_control(&a.domain->fid, FI_CANCEL_WORK, &never));
	failure(&a, &ctx[1], FI_ECANCELED); // it has requested a completion
	IS(fi_control(&a.domain->fid, FI_CANCEL_WORK, &never) < 0);
	send.threshold = 2000;
	OK(fi_control(&a.domain->fid, FI_QUEUE_WORK, &send));
	OK(fi_control(&a.domain->fid, FI_FLUSH_WORK, NULL));
	failure(&a, &ctx[1], FI_ECANCELED);
	IS(fi_control(&a.domain->fid, FI_CANCEL_WORK, &send) < 0);
	send.triggering_cntr = NULL;
	FAILS(fi_control(&a.domain->fid, FI_QUEUE_WORK, &send), FI_EINVAL);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.caps = FI_MSG | FI_TAGGED | FI_TRIGGER;
	pair_open();
	trigger = counter();
	done = counter();
	triggered();
	deferred();
	nothing(&a);
	OK(fi_close(&trigger->fid));
	OK(fi_close(&done->fid));
	pair_close();
	return 0;
}
