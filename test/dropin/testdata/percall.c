// Prints the cost of calls in ns of processor time: reads of an empty unbound queue and of one with a connected
// endpoint, and small sends and receives with a peer in the same process. Run it on two libraries to compare them.
#include "pair.h"
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

#define TIME(what, n, call) do { \
	double best = 1e18; \
	for (int r = 0; r < 5; r++) { \
		double t0 = now(); \
		for (int i = 0; i < (n); i++) { call; } \
		double t = (now() - t0) / (n); \
		best = t < best ? t : best; \
	} \
	printf("%-36s %8.1f\n", what, best); \
} while (0)

int main(int argc, char **argv)
{
	static char out[64], in[64];
	static struct fi_context2 ctx[2];
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_cntr_attr cattr = {.wait_obj = FI_WAIT_NONE};
	struct fi_cq_tagged_entry e[16];
	struct fid_cq *bare;
	struct fid_cntr *cntr;
	begin(argc, argv);
	options.wait_obj = FI_WAIT_NONE;
	pair_open();
	OK(fi_cq_open(a.domain, &attr, &bare, NULL));
	if (fi_cntr_open(a.domain, &cattr, &cntr, NULL))
		cntr = NULL; // native has none over udp
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, 64, NULL, a.peer, &ctx[1]));
	completion(&b, &ctx[0], NULL);
	completion(&a, &ctx[1], NULL);
	if (cntr) {
		TIME("fi_cntr_add", 200000, fi_cntr_add(cntr, 1));
		TIME("fi_cntr_read", 200000, fi_cntr_read(cntr));
		OK(fi_close(&cntr->fid));
	}
	TIME("fi_cq_read, nothing bound", 200000, fi_cq_read(bare, e, 16));
	TIME("fi_cq_read, connected", 100000, fi_cq_read(a.cq, e, 16));
	double t0 = now();
	for (int r = 0; r < 200; r++) {
		for (int i = 0; i < 50; i++)
			POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		for (int i = 0; i < 50; i++)
			POST(fi_inject(a.ep, out, 64, a.peer));
		for (int got = 0; got < 50;) {
			ssize_t n = fi_cq_read(b.cq, e, 16);
			got += n > 0 ? n : 0;
			if (n < 0)
				fi_cq_read(a.cq, e, 16);
		}
	}
	printf("%-36s %8.1f\n", "message of 64 bytes, in fifties", (now() - t0) / 10000);
	OK(fi_close(&bare->fid));
	pair_close();
	return 0;
}
