// Collective operations (fi_collective(3)) of two members in one process.
#include "pair.h"

static struct fi_context2 ctx[2];
static struct fid_av_set *set[2];
static struct fid_mc *mc[2];
static fi_addr_t group[2], self[2];
static struct end *at[2] = {&a, &b};

// member inserts the same addresses in the same order at both members.
static void member(int i)
{
	struct fi_av_set_attr attr = {.count = 2, .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct sockaddr_in name;
	size_t len = sizeof name;
	fi_addr_t addrs[2];
	for (int k = 0; k < 2; k++) {
		OK(fi_getname(&at[k]->ep->fid, &name, &len));
		EQUAL(fi_av_insert(at[i]->av, &name, 1, &addrs[k], 0, NULL), 1);
	}
	self[i] = addrs[i];
	OK(fi_av_set(at[i]->av, &attr, &set[i], NULL));
	for (int k = 0; k < 2; k++)
		OK(fi_av_set_insert(set[i], addrs[k]));
}

static void both(void)
{
	completion(&a, &ctx[0], NULL);
	completion(&b, &ctx[1], NULL);
}

int main(int argc, char **argv)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_UINT64};
	begin(argc, argv);
	options.caps = FI_MSG | FI_COLLECTIVE;
	end_open(&a);
	end_open(&b);
	OK(fi_query_collective(a.domain, FI_BARRIER, &attr, 0));
	OK(fi_query_collective(a.domain, FI_ALLREDUCE, &attr, 0));
	for (int i = 0; i < 2; i++)
		member(i);
	for (int i = 0; i < 2; i++) {
		OK(fi_ep_bind(at[i]->ep, &at[i]->eq->fid, 0));
		OK(fi_join_collective(at[i]->ep, FI_ADDR_NOTAVAIL, set[i], 0, &mc[i], &ctx[i]));
	}
	for (int i = 0; i < 2; i++) {
		struct fi_eq_entry *e = event(at[i], FI_JOIN_COMPLETE, NULL);
		IS(e->fid == &mc[i]->fid && e->context == &ctx[i]);
		group[i] = fi_mc_addr(mc[i]);
	}
	for (int i = 0; i < 2; i++)
		POST(fi_barrier(at[i]->ep, group[i], &ctx[i]));
	both();
	uint64_t mine[2] = {5, 37}, sum[2] = {0};
	for (int i = 0; i < 2; i++)
		POST(fi_allreduce(at[i]->ep, &mine[i], 1, NULL, &sum[i], NULL, group[i], FI_UINT64, FI_SUM, 0, &ctx[i]));
	both();
	EQUAL(sum[0], 42);
	EQUAL(sum[1], 42);
	uint32_t word[2] = {7, 9}, all[2][2] = {{0}};
	for (int i = 0; i < 2; i++)
		POST(fi_allgather(at[i]->ep, &word[i], 1, NULL, all[i], NULL, group[i], FI_UINT32, 0, &ctx[i]));
	both();
	for (int i = 0; i < 2; i++)
		IS(all[i][0] == 7 && all[i][1] == 9);
	for (int i = 0; i < 2; i++)
		POST(fi_broadcast(at[i]->ep, &word[i], 1, NULL, group[i], self[0], FI_UINT32, 0, &ctx[i]));
	both();
	EQUAL(word[1], 7);
	for (int i = 0; i < 2; i++) {
		OK(fi_close(&mc[i]->fid));
		OK(fi_close(&set[i]->fid));
	}
	pair_close();
	return 0;
}
