// Completion queues and counters.
#include "calls.h"

static void completion_queues(void)
{
	struct fid_cq *cq;
	struct fi_cq_tagged_entry e[4];
	struct fi_cq_err_entry err = {0};
	char buf[64];
	fi_addr_t src;
	struct pollfd fds[8];
	struct fi_wait_pollfd wait_fds;
	where = "cq";
	for (int w = -1; w < 9; w++) {
		struct fi_cq_attr attr = {.wait_obj = w, .format = FI_CQ_FORMAT_CONTEXT};
		cq = NULL;
		NAMED(fi_cq_open(a.domain, &attr, &cq, NULL), "fi_cq_open, wait_obj %d", w);
		if (!cq)
			continue;
		NAMED(fi_cq_sread(cq, e, 1, NULL, 0), "fi_cq_sread, wait_obj %d, timeout 0", w);
		NAMED(fi_cq_sread(cq, e, 1, NULL, 1), "fi_cq_sread, wait_obj %d, timeout 1", w);
		NAMED(fi_cq_sreadfrom(cq, e, 1, &src, NULL, 1), "fi_cq_sreadfrom, wait_obj %d", w);
		NAMED(fi_cq_signal(cq), "fi_cq_signal, wait_obj %d", w);
		NAMED(fi_cq_sread(cq, e, 1, NULL, 1), "fi_cq_sread after a signal, wait_obj %d", w);
		NAMED(fi_control(&cq->fid, FI_GETWAIT, (wait_fds = (struct fi_wait_pollfd){0, 8, fds}, &wait_fds)),
			"FI_GETWAIT, wait_obj %d", w);
		NAMED(fi_control(&cq->fid, FI_GETWAITOBJ, &wait_fds), "FI_GETWAITOBJ, wait_obj %d", w);
		NAMED(fi_close(&cq->fid), "fi_close, wait_obj %d", w);
	}
	for (int f = -1; f < 7; f++) {
		struct fi_cq_attr attr = {.format = f, .wait_obj = FI_WAIT_NONE};
		cq = NULL;
		NAMED(fi_cq_open(a.domain, &attr, &cq, NULL), "fi_cq_open, format %d", f);
		if (cq)
			fi_close(&cq->fid);
	}
	for (int c = -1; c < 4; c++) {
		struct fi_cq_attr attr = {.wait_cond = c, .wait_obj = FI_WAIT_FD, .format = FI_CQ_FORMAT_CONTEXT};
		cq = NULL;
		NAMED(fi_cq_open(a.domain, &attr, &cq, NULL), "fi_cq_open, wait_cond %d", c);
		if (!cq)
			continue;
		NAMED(fi_cq_sread(cq, e, 1, (void *)1, 1), "fi_cq_sread, wait_cond %d", c);
		fi_close(&cq->fid);
	}
	struct fi_cq_attr attr = {.flags = 1ull << 60, .wait_obj = FI_WAIT_NONE};
	OPENED(cq, fi_cq_open(a.domain, &attr, &cq, NULL));
	attr = (struct fi_cq_attr){.flags = FI_AFFINITY, .wait_obj = FI_WAIT_NONE};
	OPENED(cq, fi_cq_open(a.domain, &attr, &cq, NULL));
	attr = (struct fi_cq_attr){.size = 1ull << 50, .wait_obj = FI_WAIT_NONE};
	OPENED(cq, fi_cq_open(a.domain, &attr, &cq, NULL));
	OPENED(cq, fi_cq_open(a.domain, NULL, &cq, NULL));
	CALL(fi_cq_read(a.cq, e, 4));
	CALL(fi_cq_read(a.cq, NULL, 0));
	CALL(fi_cq_read(a.cq, e, 0));
	CALL(fi_cq_readfrom(a.cq, e, 4, &src));
	CALL(fi_cq_readfrom(a.cq, e, 4, NULL));
	CALL(fi_cq_readerr(a.cq, &err, 0));
	CALL(fi_cq_readerr(a.cq, &err, 1ull << 60));
	CALL(fi_cq_strerror(a.cq, 5, NULL, buf, sizeof buf) == NULL);
	CALL(fi_cq_strerror(a.cq, 5, NULL, NULL, 0) == NULL);
	CALL(fi_cq_strerror(a.cq, 123456, NULL, buf, 1) == NULL);
	CALL(fi_close(&a.cq->fid)); // it is bound
}

static void counters(void)
{
	struct fid_cntr *c;
	struct pollfd fds[8];
	struct fi_wait_pollfd wait_fds;
	where = "cntr";
	for (int w = -1; w < 9; w++) {
		struct fi_cntr_attr attr = {.wait_obj = w};
		c = NULL;
		NAMED(fi_cntr_open(a.domain, &attr, &c, NULL), "fi_cntr_open, wait_obj %d", w);
		if (!c)
			continue;
		NAMED(fi_cntr_wait(c, 0, 0), "fi_cntr_wait for 0, wait_obj %d", w);
		NAMED(fi_cntr_wait(c, 1, 0), "fi_cntr_wait, timeout 0, wait_obj %d", w);
		NAMED(fi_cntr_wait(c, 1, 1), "fi_cntr_wait, timeout 1, wait_obj %d", w);
		NAMED(fi_cntr_add(c, 3), "fi_cntr_add, wait_obj %d", w);
		NAMED(fi_cntr_wait(c, 2, 1), "fi_cntr_wait for what is, wait_obj %d", w);
		NAMED(fi_cntr_adderr(c, 1), "fi_cntr_adderr, wait_obj %d", w);
		NAMED(fi_cntr_wait(c, 9, 1), "fi_cntr_wait after an error, wait_obj %d", w);
		NAMED(fi_cntr_read(c), "fi_cntr_read, wait_obj %d", w);
		NAMED(fi_cntr_readerr(c), "fi_cntr_readerr, wait_obj %d", w);
		NAMED(fi_cntr_set(c, 7), "fi_cntr_set, wait_obj %d", w);
		NAMED(fi_cntr_seterr(c, 7), "fi_cntr_seterr, wait_obj %d", w);
		NAMED(fi_cntr_read(c), "fi_cntr_read, wait_obj %d", w);
		NAMED(fi_cntr_readerr(c), "fi_cntr_readerr, wait_obj %d", w);
		NAMED(fi_control(&c->fid, FI_GETWAIT, (wait_fds = (struct fi_wait_pollfd){0, 8, fds}, &wait_fds)),
			"FI_GETWAIT, wait_obj %d", w);
		NAMED(fi_control(&c->fid, FI_GETWAITOBJ, &wait_fds), "FI_GETWAITOBJ, wait_obj %d", w);
		NAMED(fi_close(&c->fid), "fi_close, wait_obj %d", w);
	}
	for (int e = -1; e < 4; e++) {
		struct fi_cntr_attr attr = {.events = e, .wait_obj = FI_WAIT_NONE};
		c = NULL;
		NAMED(fi_cntr_open(a.domain, &attr, &c, NULL), "fi_cntr_open, events %d", e);
		if (c)
			fi_close(&c->fid);
	}
	struct fi_cntr_attr attr = {.flags = 1, .wait_obj = FI_WAIT_NONE};
	OPENED(c, fi_cntr_open(a.domain, &attr, &c, NULL));
	OPENED(c, fi_cntr_open(a.domain, NULL, &c, NULL));
}

void queue_calls(void)
{
	options.wait_obj = FI_WAIT_FD;
	pair_open();
	drain();
	completion_queues();
	counters();
}
