// Poll sets and wait sets (fi_poll(3)).
#include "pair.h"

static char out[64], in[64];
static struct fi_context2 ctx[4];

int main(int argc, char **argv)
{
	struct fid_poll *poll;
	struct fid_wait *wait;
	struct fi_poll_attr pattr = {0};
	struct fi_wait_attr wattr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_cntr_attr cattr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
	struct fi_cq_attr qattr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET};
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	void *found[4];
	int n;
	begin(argc, argv);
	pair_open();

	OK(fi_poll_open(b.domain, &pattr, &poll));
	OK(fi_cntr_open(b.domain, &cattr, &cntr, &cntr));
	OK(fi_poll_add(poll, &b.cq->fid, 0));
	OK(fi_poll_add(poll, &cntr->fid, 0));
	EQUAL(fi_poll(poll, found, 4), 0);
	OK(fi_cntr_add(cntr, 1));
	EQUAL(fi_poll(poll, found, 4), 1);
	IS(found[0] == &cntr);
	POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &ctx[1]));
	uint64_t end = now_ms() + 10000;
	struct fi_cq_tagged_entry e;
	while ((n = fi_poll(poll, found, 4)) == 0) {
		fi_cq_read(a.cq, &e, 1);
		IS(now_ms() < end);
	}
	int queue = 0;
	for (int i = 0; i < n; i++)
		queue |= found[i] == &b; // the queue's context
	IS(queue);
	EQUAL(fi_cq_read(b.cq, &e, 1), 1);
	IS(e.op_context == &ctx[0]);
	FAILS(fi_close(&poll->fid), FI_EBUSY);
	OK(fi_poll_del(poll, &b.cq->fid, 0));
	FAILS(fi_close(&poll->fid), FI_EBUSY);
	OK(fi_poll_del(poll, &cntr->fid, 0));
	EQUAL(fi_poll(poll, found, 4), 0);
	IS(fi_close(&poll->fid) == 0);
	OK(fi_close(&cntr->fid));

	OK(fi_wait_open(b.fabric, &wattr, &wait));
	qattr.wait_set = wait;
	OK(fi_cq_open(b.domain, &qattr, &cq, NULL));
	uint64_t before = now_ms();
	FAILS(fi_wait(wait, 30), FI_ETIMEDOUT);
	IS(now_ms() - before >= 25);
	OK(fi_cq_signal(cq));
	OK(fi_wait(wait, 10000));
	OK(fi_close(&cq->fid));
	OK(fi_close(&wait->fid));
	pair_close();
	return 0;
}
