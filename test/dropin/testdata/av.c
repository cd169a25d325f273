// Address vectors and sets (fi_av(3), fi_av_set(3)).
#include "pair.h"
#include <arpa/inet.h>

static struct sockaddr_in address(int port)
{
	struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return s;
}

static void check(struct fid_av *av, fi_addr_t at, const char *host, int port)
{
	struct sockaddr_in got;
	size_t len = sizeof got;
	char text[64];
	OK(fi_av_lookup(av, at, &got, &len));
	EQUAL(len, sizeof got);
	EQUAL(got.sin_family, AF_INET);
	EQUAL(ntohs(got.sin_port), port);
	IS(!strcmp(inet_ntop(AF_INET, &got.sin_addr, text, sizeof text), host));
}

static void table(enum fi_av_type type)
{
	struct fi_av_attr attr = {.type = type, .count = 16};
	struct sockaddr_in list[8], short_one;
	struct fid_av *av;
	fi_addr_t at[16];
	size_t len;
	char text[64];
	OK(fi_av_open(a.domain, &attr, &av, &attr));
	IS(av->fid.context == &attr);
	for (int i = 0; i < 8; i++)
		list[i] = address(2000 + i);
	EQUAL(fi_av_insert(av, list, 8, at, 0, NULL), 8);
	for (int i = 0; i < 8; i++)
		check(av, at[i], "127.0.0.1", 2000 + i);
	if (attr.type == FI_AV_TABLE)
		for (int i = 0; i < 8; i++)
			EQUAL(at[i], i);
	EQUAL(fi_av_insertsvc(av, "127.0.0.1", "3000", at, 0, NULL), 1);
	check(av, at[0], "127.0.0.1", 3000);
	EQUAL(fi_av_insertsym(av, "127.0.0.1", 2, "4000", 3, at, 0, NULL), 6);
	check(av, at[0], "127.0.0.1", 4000);
	check(av, at[2], "127.0.0.1", 4002);
	check(av, at[5], "127.0.0.2", 4002);
	len = 4; // a truncated name still has its full length
	memset(&short_one, 0xee, sizeof short_one);
	OK(fi_av_lookup(av, at[0], &short_one, &len));
	EQUAL(len, sizeof short_one);
	EQUAL(((uint8_t *)&short_one)[4], 0xee);
	len = sizeof text;
	IS(fi_av_straddr(av, &list[3], text, &len));
	IS(strstr(text, "127.0.0.1:2003"));
	EQUAL(len, strlen(text) + 1);
	len = 5;
	IS(fi_av_straddr(av, &list[3], text, &len));
	EQUAL(strlen(text), 4);
	OK(fi_av_remove(av, at, 6, 0));
	len = sizeof short_one;
	IS(fi_av_lookup(av, at[0], &short_one, &len) < 0);
	IS(fi_av_lookup(av, 12345, &short_one, &len) < 0);
	OK(fi_close(&av->fid));
}

static void events(void)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct sockaddr_in list[3] = {address(1), address(2), address(3)};
	struct fid_av *av;
	fi_addr_t at[3] = {9, 9, 9};
	OK(fi_av_open(a.domain, &attr, &av, NULL));
	OK(fi_av_bind(av, &a.eq->fid, 0));
	OK(fi_av_insert(av, list, 3, at, 0, &at));
	struct fi_eq_entry *e = event(&a, FI_AV_COMPLETE, NULL);
	IS(e->fid == &av->fid && e->context == &at);
	EQUAL(e->data, 3);
	for (int i = 0; i < 3; i++)
		EQUAL(at[i], i);
	OK(fi_close(&av->fid));
}

static void sets(void)
{
	struct fi_av_set_attr attr = {.count = 4, .start_addr = 0, .end_addr = 3, .stride = 1},
		none = {.count = 4, .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL};
	struct sockaddr_in list[6];
	fi_addr_t at[6], addr;
	struct fid_av_set *some, *other;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fid_av *av;
	for (int i = 0; i < 6; i++)
		list[i] = address(5000 + i);
	OK(fi_av_open(a.domain, &av_attr, &av, NULL));
	EQUAL(fi_av_insert(av, list, 6, at, 0, NULL), 6);
	OK(fi_av_set(av, &attr, &some, NULL));
	OK(fi_av_set(av, &none, &other, NULL));
	OK(fi_av_set_insert(other, 4));
	FAILS(fi_av_set_insert(other, 4), FI_EINVAL);
	OK(fi_av_set_union(some, other));
	FAILS(fi_av_set_insert(some, 4), FI_EINVAL); // it was inserted with the other one
	OK(fi_av_set_remove(some, 0));
	FAILS(fi_av_set_remove(some, 0), FI_EINVAL);
	OK(fi_av_set_intersect(some, other));
	OK(fi_av_set_remove(some, 4));
	FAILS(fi_av_set_remove(some, 1), FI_EINVAL);
	OK(fi_av_set_diff(other, other));
	FAILS(fi_av_set_remove(other, 4), FI_EINVAL);
	OK(fi_av_set_addr(some, &addr));
	OK(fi_close(&some->fid));
	OK(fi_close(&other->fid));
	OK(fi_close(&av->fid));
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	end_open(&a);
	table(FI_AV_TABLE);
	table(FI_AV_MAP);
	table(FI_AV_UNSPEC);
	events();
	if (options.type == FI_EP_RDM)
		sets();
	pair_close();
	return 0;
}
