// Multicast, sets of addresses and collectives.
#include "calls.h"

static void query(void)
{
	where = "query";
	for (int coll = -1; coll < 11; coll++)
		for (int op = -1; op < 20; op += 3)
			for (int type = -1; type < 16; type += 4) {
				struct fi_collective_attr attr = {.op = op, .datatype = type};
				NAMED(fi_query_collective(a.domain, coll, &attr, 0),
					"fi_query_collective %d, op %d, datatype %d", coll, op, type);
			}
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_UINT64, .mode = ~0ull};
	CALL(fi_query_collective(a.domain, FI_ALLREDUCE, &attr, 0));
	attr.mode = 0;
	CALL(fi_query_collective(a.domain, FI_ALLREDUCE, &attr, 1ull << 60));
	CALL(fi_query_collective(a.domain, FI_ALLREDUCE, NULL, 0));
}

static void sets(void)
{
	struct fi_av_set_attr attr = {.count = 2, .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL, .stride = 1};
	struct fid_av_set *s = NULL, *other = NULL;
	fi_addr_t addr;
	where = "set";
	CALL(fi_av_set(a.av, NULL, &s, NULL));
	CALL(fi_av_set(a.av, &attr, &s, NULL));
	attr.start_addr = attr.end_addr = a.peer;
	CALL(fi_av_set(a.av, &attr, &other, NULL));
	if (!s || !other)
		return;
	CALL(fi_av_set_insert(s, a.peer));
	CALL(fi_av_set_insert(s, a.peer));
	CALL(fi_av_set_insert(s, 1000000));
	CALL(fi_av_set_union(s, other));
	CALL(fi_av_set_intersect(s, other));
	CALL(fi_av_set_diff(s, other));
	CALL(fi_av_set_remove(s, a.peer));
	CALL(fi_av_set_remove(s, 1000000));
	CALL(fi_av_set_addr(s, &addr));
	CALL(fi_close(&s->fid));
	CALL(fi_close(&other->fid));
}

static void collectives(void)
{
	struct fid_ep *ep = a.ep;
	struct fid_mc *mc = NULL;
	static char buf[64], result[64];
	struct fi_context2 ctx[12];
	struct sockaddr_in s = {.sin_family = AF_INET};
	struct fi_collective_addr none = {.coll_addr = FI_ADDR_NOTAVAIL};
	where = "join";
	CALL(fi_join(ep, &s, 0, &mc, NULL)); // not the address of a group
	CALL(fi_join(ep, &none, FI_COLLECTIVE, &mc, NULL));
	s.sin_addr.s_addr = htonl(0xefff0001);
	if (options.type != FI_EP_DGRAM)
		CALL(fi_join(ep, &s, 0, &mc, NULL));
	CALL(fi_join(ep, &s, 1ull << 60, &mc, NULL));
	where = "collective";
	CALL(fi_barrier(ep, 12345, &ctx[0]));
	CALL(fi_barrier2(ep, 12345, 0, &ctx[0]));
	CALL(fi_broadcast(ep, buf, 1, NULL, 12345, 0, FI_UINT64, 0, &ctx[1]));
	CALL(fi_alltoall(ep, buf, 1, NULL, result, NULL, 12345, FI_UINT64, 0, &ctx[2]));
	CALL(fi_allreduce(ep, buf, 1, NULL, result, NULL, 12345, FI_UINT64, FI_SUM, 0, &ctx[3]));
	CALL(fi_allgather(ep, buf, 1, NULL, result, NULL, 12345, FI_UINT64, 0, &ctx[4]));
	CALL(fi_reduce_scatter(ep, buf, 1, NULL, result, NULL, 12345, FI_UINT64, FI_SUM, 0, &ctx[5]));
	CALL(fi_reduce(ep, buf, 1, NULL, result, NULL, 12345, 0, FI_UINT64, FI_SUM, 0, &ctx[6]));
	CALL(fi_scatter(ep, buf, 1, NULL, result, NULL, 12345, 0, FI_UINT64, 0, &ctx[7]));
	CALL(fi_gather(ep, buf, 1, NULL, result, NULL, 12345, 0, FI_UINT64, 0, &ctx[8]));
}

void group_calls(void)
{
	pair_open();
	drain();
	query();
	if (a.av)
		sets();
	collectives();
}
