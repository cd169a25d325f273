// Counters (fi_cntr(3)): values, waits, set and add, errors.
#include "pair.h"
#include <pthread.h>

static char out[64], in[64];
static struct fi_context2 ctx[4];

static void wait_for(struct fid_cntr *c, uint64_t n, struct end *other)
{
	uint64_t end = now_ms() + 10000;
	while (fi_cntr_read(c) < n) {
		IS(now_ms() < end);
		progress(__FILE__, __LINE__);
	}
	OK(fi_cntr_wait(c, n, 1000)); // the threshold is reached already
	EQUAL(fi_cntr_read(c), n);
	EQUAL(fi_cntr_readerr(c), 0);
}

static void *add_error(void *c)
{
	usleep(20000);
	OK(fi_cntr_adderr(c, 2));
	return NULL;
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.counters = 1;
	pair_open();
	for (int i = 1; i <= 20; i++) {
		POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		if (i % 2)
			POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &ctx[1]));
		else
			POST(fi_inject(a.ep, out, sizeof out, a.peer));
		wait_for(b.rx_cntr, i, &a);
		wait_for(a.tx_cntr, i, &b);
		a.ndone = b.ndone = 0;
	}
	EQUAL(fi_cntr_read(a.rx_cntr), 0);

	struct fid_cntr *c;
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	OK(fi_cntr_open(a.domain, &attr, &c, &attr));
	IS(c->fid.context == &attr);
	EQUAL(fi_cntr_read(c), 0);
	OK(fi_cntr_set(c, 100));
	OK(fi_cntr_add(c, 5));
	EQUAL(fi_cntr_read(c), 105);
	uint64_t before = now_ms();
	FAILS(fi_cntr_wait(c, 106, 50), FI_ETIMEDOUT);
	IS(now_ms() - before >= 45);
	pthread_t thread;
	EQUAL(pthread_create(&thread, NULL, add_error, c), 0);
	FAILS(fi_cntr_wait(c, 106, 20000), FI_EAVAIL); // an error ends the wait
	pthread_join(thread, NULL);
	EQUAL(fi_cntr_readerr(c), 2);
	OK(fi_cntr_seterr(c, 0));
	EQUAL(fi_cntr_readerr(c), 0);
	OK(fi_close(&c->fid));
	pair_close();
	return 0;
}
