// Traffic classes (fi_endpoint(3), fi_domain(3)): hints are granted, and sockets mark their packets.
#include "pair.h"
#include <netinet/in.h>
#include <sys/socket.h>

static uint32_t of_endpoint, of_domain;
static char out[64], in[64];
static struct fi_context2 ctx[2];

static void classes(struct fi_info *h)
{
	h->tx_attr->tclass = of_endpoint;
	h->domain_attr->tclass = of_domain;
}

// marked counts the sockets of this process whose packets have a non-zero type of service.
static int marked(int tos)
{
	int n = 0;
	for (int fd = 0; fd < 1024; fd++) {
		int got = 0;
		socklen_t len = sizeof got;
		n += !getsockopt(fd, IPPROTO_IP, IP_TOS, &got, &len) && got == tos;
	}
	return n;
}

static void try(uint32_t endpoint, uint32_t domain, uint32_t granted, int tos)
{
	of_endpoint = endpoint;
	of_domain = domain;
	pair_open();
	EQUAL(a.info->tx_attr->tclass, granted);
	EQUAL(a.info->domain_attr->tclass, domain);
	struct fi_info *copy = fi_dupinfo(a.info);
	EQUAL(copy->tx_attr->tclass, granted);
	EQUAL(copy->domain_attr->tclass, domain);
	fi_freeinfo(copy);
	POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &ctx[1]));
	completion(&b, &ctx[0], NULL);
	completion(&a, &ctx[1], NULL);
	if (tos)
		IS(marked(tos) >= 2);
	else
		EQUAL(marked(46 << 2) + marked(18 << 2) + marked(10 << 2), 0);
	pair_close();
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.more_hints = classes;
	try(0, 0, 0, 0);
	try(FI_TC_LOW_LATENCY, 0, FI_TC_LOW_LATENCY, 46 << 2);
	try(0, FI_TC_BULK_DATA, FI_TC_BULK_DATA, 10 << 2); // the class of the domain is the default
	try(fi_tc_dscp_set(18), FI_TC_BULK_DATA, fi_tc_dscp_set(18), 18 << 2);
	try(FI_TC_BEST_EFFORT, 0, FI_TC_BEST_EFFORT, 0);
	return 0;
}
