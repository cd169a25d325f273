// Address vectors.
#include "calls.h"
#include <arpa/inet.h>

static struct sockaddr_in at(const char *ip, int port)
{
	struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, ip, &s.sin_addr);
	return s;
}

// AV opens a vector with one attribute changed.
#define AV(change) do { \
	struct fi_av_attr attr = {.type = FI_AV_TABLE}; \
	struct fid_av *v = NULL; \
	change; \
	NAMED(fi_av_open(a.domain, &attr, &v, NULL), "fi_av_open, %s", #change); \
	if (v) \
		fi_close(&v->fid); \
} while (0)

static void open_vectors(void)
{
	struct fid_av *v;
	where = "av";
	AV(attr.type = FI_AV_UNSPEC);
	AV(attr.type = FI_AV_MAP);
	AV(attr.type = FI_AV_TABLE);
	AV(attr.type = 99);
	AV(attr.rx_ctx_bits = 4);
	AV(attr.rx_ctx_bits = 32);
	AV(attr.rx_ctx_bits = 65);
	AV(attr.rx_ctx_bits = -1);
	AV(attr.count = 1 << 20);
	AV(attr.ep_per_node = 8);
	AV(attr.flags = FI_EVENT);
	AV(attr.flags = FI_READ);
	AV(attr.flags = FI_SYMMETRIC);
	AV(attr.flags = FI_AV_USER_ID);
	AV(attr.flags = 1ull << 60);
	AV(attr.map_addr = (void *)4096);
	CALL(fi_av_open(a.domain, NULL, &v, NULL));
}

static void insert(void)
{
	struct sockaddr_in one = at("127.0.0.1", 4242), bad = one, two[2] = {one, at("127.0.0.2", 4243)};
	fi_addr_t fi[4] = {0};
	int errs[4] = {0};
	bad.sin_family = 12345;
	where = "insert";
	CALL(fi_av_insert(a.av, &one, 1, fi, 0, NULL));
	CALL(fi_av_insert(a.av, &one, 1, fi, 0, NULL));
	CALL(fi_av_insert(a.av, &one, 1, NULL, 0, NULL));
	CALL(fi_av_insert(a.av, two, 2, fi, 0, NULL));
	CALL(fi_av_insert(a.av, two, 2, fi, FI_MORE, NULL));
	CALL(fi_av_insert(a.av, two, 0, fi, 0, NULL));
	CALL(fi_av_insert(a.av, &bad, 1, fi, 0, NULL));
	CALL(fi[0] == FI_ADDR_NOTAVAIL);
	CALL(fi_av_insert(a.av, &bad, 1, fi, FI_SYNC_ERR, errs));
	CALL(errs[0]);
	CALL(fi_av_insert(a.av, &one, 1, fi, FI_SYNC_ERR, errs));
	CALL(fi_av_insert(a.av, &one, 1, fi, FI_SYNC_ERR, NULL));
	CALL(fi_av_insert(a.av, &one, 1, fi, FI_AV_USER_ID, NULL));
	CALL(fi_av_insert(a.av, &one, 1, fi, 1ull << 60, NULL));
	CALL(fi_av_insert(a.av, NULL, 1, fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, "127.0.0.1", "4244", fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, "127.0.0.1", NULL, fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, NULL, "4244", fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, NULL, NULL, fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, "127.0.0.1", "nosuchservice", fi, 0, NULL));
	CALL(fi_av_insertsvc(a.av, "127.0.0.1", "4244", fi, 1ull << 60, NULL));
	CALL(fi_av_insertsym(a.av, "127.0.0.1", 2, "4245", 2, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, "127.0.0.1", 0, "4245", 2, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, "127.0.0.1", 2, "4245", 0, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, "localhost", 1, "4245", 1, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, NULL, 1, "4245", 1, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, "127.0.0.1", 1, NULL, 1, fi, 0, NULL));
	CALL(fi_av_insertsym(a.av, "127.0.0.1", 1, "4245", 1, fi, 1ull << 60, NULL));
}

static void look_up(void)
{
	struct sockaddr_in one = at("127.0.0.1", 4242);
	char buf[64];
	size_t len = sizeof one;
	fi_addr_t fi[2], none[2] = {1000000, FI_ADDR_UNSPEC}, set[1];
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	struct fid_av *v;
	where = "lookup";
	// A new vector: native's does not work any more after the insertions above.
	OK(fi_av_open(a.domain, &attr, &v, NULL));
	CALL(fi_av_insert(v, &one, 1, fi, 0, NULL));
	CALL(fi_av_lookup(v, fi[0], buf, &len));
	CALL(len);
	len = 3;
	CALL(fi_av_lookup(v, fi[0], buf, &len));
	CALL(len);
	len = 0;
	CALL(fi_av_lookup(v, fi[0], NULL, &len));
	CALL(len);
	len = sizeof buf;
	CALL(fi_av_lookup(v, 1000000, buf, &len));
	CALL(fi_av_lookup(v, FI_ADDR_NOTAVAIL, buf, &len));
	len = sizeof buf;
	CALL(fi_av_straddr(v, &one, buf, &len) == NULL);
	CALL(len);
	len = 4;
	CALL(fi_av_straddr(v, &one, buf, &len) == NULL);
	CALL(len);
	where = "remove";
	CALL(fi_av_remove(v, none, 1, 0));
	CALL(fi_av_remove(v, none + 1, 1, 0));
	CALL(fi_av_remove(v, fi, 1, 1ull << 60));
	CALL(fi_av_remove(v, fi, 0, 0));
	CALL(fi_av_remove(v, fi, 1, 0));
	CALL(fi_av_remove(v, fi, 1, 0));
	len = sizeof buf;
	CALL(fi_av_lookup(v, fi[0], buf, &len));
	where = "more";
	CALL(fi_av_insert(v, &one, 1, fi, 0, NULL));
	CALL(fi_av_set_user_id(v, fi[0], 7, 0));
	CALL(fi_av_set_user_id(v, 1000000, 7, 0));
	CALL(fi_av_insert_auth_key(v, "key", 3, set, 0));
	CALL(fi_av_lookup_auth_key(v, 0, buf, &len));
	CALL(fi_av_bind(v, &a.eq->fid, 0));
	CALL(fi_av_bind(v, &a.cq->fid, 0));
	CALL(fi_av_bind(v, &a.eq->fid, FI_WRITE));
	CALL(fi_close(&v->fid));
	CALL(fi_close(&a.av->fid)); // it is bound
}

// later makes insertions that report events.
static void later(void)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct fid_av *v = NULL;
	struct sockaddr_in one = at("127.0.0.1", 4242);
	fi_addr_t fi[2];
	uint32_t event;
	char buf[256];
	where = "asynchronous";
	CALL(fi_av_open(a.domain, &attr, &v, NULL));
	if (!v)
		return;
	CALL(fi_av_insert(v, &one, 1, fi, 0, NULL)); // no event queue is bound
	CALL(fi_av_bind(v, &a.eq->fid, 0));
	CALL(fi_av_insert(v, &one, 1, fi, 0, NULL));
	CALL(fi_eq_sread(a.eq, &event, buf, sizeof buf, 1000, 0));
	CALL(event);
	CALL(fi_av_insert(v, &one, 1, fi, FI_SYNC_ERR, NULL));
	CALL(fi_close(&v->fid));
}

void vector_calls(void)
{
	pair_open();
	drain();
	if (!a.av)
		return;
	open_vectors();
	insert();
	look_up();
	later();
}
