// Receives that wait for the next pass (cmd/libfabric, inlet.c). The program must not notice. They are posted although
// the program makes no calls or sleeps, count as posted in every call, and keep their order.
#include "pair.h"

static char out[64], in[8][64];
static struct fi_context2 ctx[8];

// polled makes passes at both ends for some time, after which receives may wait.
static void polled(void)
{
	for (int i = 0; i < 200; i++) {
		fi_cq_read(a.cq, NULL, 0);
		fi_cq_read(b.cq, NULL, 0);
	}
}

static void receive(int i) { POST(fi_recv(b.ep, in[i], sizeof in[i], NULL, FI_ADDR_UNSPEC, &ctx[i])); }

static void inject(int seed)
{
	fill(out, sizeof out, seed);
	POST(fi_inject(a.ep, out, sizeof out, a.peer));
}

// away only reads its memory, whether the message or the receive comes first.
static void away(int message_first)
{
	memset(in, 0, sizeof in);
	polled();
	if (message_first) {
		inject(1);
		polled();
		receive(0);
	} else {
		receive(0);
		inject(1);
	}
	fill(out, sizeof out, 1);
	for (uint64_t end = now_ms() + 5000; __atomic_load_n(&in[0][63], __ATOMIC_ACQUIRE) != out[63];)
		IS(now_ms() < end);
	same(in[0], sizeof in[0], 1);
	EQUAL(completion(&b, &ctx[0], NULL).len, 64);
}

// asleep waits in the queue, or on its descriptor.
static void asleep(int descriptor)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid = &b.cq->fid;
	polled();
	inject(2);
	polled();
	receive(0);
	if (descriptor) {
		struct pollfd p = {.events = POLLIN};
		OK(fi_control(&b.cq->fid, FI_GETWAIT, &p.fd));
		ssize_t n;
		for (uint64_t end = now_ms() + 5000; (n = fi_cq_read(b.cq, &e, 1)) == -FI_EAGAIN;) {
			IS(now_ms() < end);
			if (fi_trywait(b.fabric, &fid, 1) == 0)
				EQUAL(poll(&p, 1, 5000), 1);
		}
		EQUAL(n, 1);
	} else {
		EQUAL(fi_cq_sread(b.cq, &e, 1, NULL, 5000), 1);
	}
	IS(e.op_context == &ctx[0]);
	same(in[0], sizeof in[0], 2);
}

// order mixes receives that wait with receives that do not.
static void order(void)
{
	struct iovec iov = {in[1], sizeof in[1]};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &ctx[1]};
	polled();
	receive(0);
	POST(fi_recvmsg(b.ep, &m, FI_COMPLETION));
	receive(2);
	iov.iov_base = in[3];
	POST(fi_recvv(b.ep, &iov, NULL, 1, FI_ADDR_UNSPEC, &ctx[3]));
	receive(4);
	for (int i = 0; i < 5; i++)
		inject(10 + i);
	for (int i = 0; i < 5; i++) {
		completion(&b, &ctx[i], NULL);
		same(in[i], sizeof in[i], 10 + i);
	}
}

static void canceled(void)
{
	polled();
	receive(0);
	receive(1);
	OK(fi_cancel(&b.ep->fid, &ctx[0]));
	failure(&b, &ctx[0], FI_ECANCELED);
	inject(3);
	completion(&b, &ctx[1], NULL);
	same(in[1], sizeof in[1], 3);
}

// full posts receives until there is no room. That must be as many as rx_attr->size.
static void full(void)
{
	size_t size = b.info->rx_attr->size, n = 0;
	struct fi_context2 *many = calloc(size + 1, sizeof *many);
	IS(many != NULL);
	polled();
	ssize_t rc;
	while ((rc = fi_recv(b.ep, in[0], sizeof in[0], NULL, FI_ADDR_UNSPEC, &many[n])) == 0)
		IS(n++ < size);
	EQUAL(rc, -FI_EAGAIN);
	EQUAL(n, size);
	for (size_t i = 0; i < n; i++) {
		OK(fi_cancel(&b.ep->fid, &many[i]));
		failure(&b, &many[i], FI_ECANCELED);
	}
	polled();
	receive(0);
	OK(fi_cancel(&b.ep->fid, &ctx[0]));
	failure(&b, &ctx[0], FI_ECANCELED);
	free(many);
}

// counted reads only the counter.
static void counted(void)
{
	polled();
	inject(4);
	polled();
	receive(0);
	OK(fi_cntr_wait(b.rx_cntr, 1, 5000));
	completion(&b, &ctx[0], NULL);
	inject(5);
	polled();
	receive(0);
	for (uint64_t end = now_ms() + 5000; fi_cntr_read(b.rx_cntr) != 2;)
		IS(now_ms() < end);
	completion(&b, &ctx[0], NULL);
}

// dropped closes an endpoint with a waiting receive.
static void dropped(void)
{
	polled();
	receive(0);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.wait_obj = FI_WAIT_FD;
	options.counters = 1;
	pair_open();
	counted();
	for (int i = 0; i < 20; i++) {
		away(i & 1);
		asleep(i & 1);
		order();
		canceled();
	}
	full();
	dropped();
	pair_close();
	return 0;
}
