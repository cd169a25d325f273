/*
 * A server or a client on native libfabric: an RDM endpoint that receives from clients, or sends to a server.
 *
 *     native server PROVIDER ADDRESS PORT JOURNAL EPOCH MOST
 *     native client PROVIDER ADDRESS PORT JOURNAL EPOCH MOST LIFE TO-PORT COUNT
 *
 * Content and journal are those of content_test.go and journal_test.go. EPOCH is in microseconds.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { POSTED = 1, DONE, FAILED, RECEIVED, CLOSING, CLOSED };
enum { BOX = 100, NATIVE = 102, RECEIVES = 8 };

static uint64_t epoch, most;
static int journal;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;

static void must(long rc, const char *what)
{
	if (rc < 0) {
		printf("native: %s: %s\n", what, fi_strerror((int)-rc)); /* the fleet logs it */
		exit(2);
	}
}

static void note(uint64_t kind, uint64_t word, uint64_t to, uint64_t level)
{
	struct timespec t;
	uint64_t r[2];

	clock_gettime(CLOCK_REALTIME, &t);
	r[0] = word;
	r[1] = kind << 56 | to << 48 | level << 44 | ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 - epoch);
	if (write(journal, r, sizeof r) != sizeof r)
		exit(2);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t size_of(uint64_t word)
{
	uint64_t x = mix(word), n = x >> 8 & ((1ULL << 40) - 1), k = x & 255;

	if (k < 8)
		n = 1;
	else if (k < 100)
		n = 1 + n % 128;
	else if (k < 200)
		n = 1 + n % 10000;
	else if (k < 250)
		n = 1 + n % 100000;
	else
		n = 1 + n % (4 << 20);
	return n < most ? n : most;
}

static void fill(uint8_t *b, uint64_t n, uint64_t word)
{
	uint64_t x = mix(word ^ 0x6c6574746572), y, i, k;

	for (i = 0; i < n; i += 8) {
		x = x * 0xd1342543de82ef95 + 0x9e3779b97f4a7c15;
		y = x ^ x >> 32;
		k = n - i < 8 ? n - i : 8;
		memcpy(b + i, &y, k);
	}
}

static void receive(uint8_t **buf, struct fi_context *ctx, int i)
{
	long rc;

	do {
		if (i % 2)
			rc = fi_trecv(ep, buf[i], most, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, ctx + i);
		else
			rc = fi_recv(ep, buf[i], most, NULL, FI_ADDR_UNSPEC, ctx + i);
		if (rc == -FI_EAGAIN)
			fi_cq_read(cq, NULL, 0);
		/* FI_EOTHER: the sender of a large message is gone (rxm_handle_rndv, prov/rxm/src/rxm_cq.c) */
	} while (rc == -FI_EAGAIN || rc == -FI_EOTHER);
	must(rc, "receive");
}

static void server(void)
{
	static struct fi_context ctx[RECEIVES];
	uint8_t *buf[RECEIVES], *want = malloc(most), c;
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry bad;
	uint64_t word;
	long rc;
	int i;

	for (i = 0; i < RECEIVES; i++) {
		buf[i] = malloc(most);
		receive(buf, ctx, i);
	}
	fcntl(0, F_SETFL, O_NONBLOCK);
	printf("READY 1\n");
	while (read(0, &c, 1) < 0) {
		rc = fi_cq_read(cq, &e, 1);
		if (rc == -FI_EAGAIN) {
			usleep(200);
			continue;
		}
		if (rc == -FI_EAVAIL) {
			memset(&bad, 0, sizeof bad);
			if (fi_cq_readerr(cq, &bad, 0) != 1)
				continue;
			i = (int)((struct fi_context *)bad.op_context - ctx);
		} else {
			must(rc, "fi_cq_read");
			i = (int)((struct fi_context *)e.op_context - ctx);
			word = i % 2 ? e.tag : e.data;
			fill(want, size_of(word), word);
			if (e.len != size_of(word) || memcmp(buf[i], want, e.len))
				printf("FAIL altered the native server: %zu bytes of %llx\n", e.len, (unsigned long long)word);
			else
				note(RECEIVED, word, 0, 0);
		}
		memset(buf[i], 0xa5, most);
		if (random() % 300 == 0)
			usleep(random() % 1000000); /* a late reader */
		receive(buf, ctx, i);
	}
}

static void client(uint64_t life, const char *addr, int port, uint64_t count)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry bad;
	struct fi_context ctx;
	uint8_t *buf = malloc(most);
	uint64_t word, seq;
	fi_addr_t peer;
	long rc;

	inet_pton(AF_INET, addr, &to.sin_addr);
	if (fi_av_insert(av, &to, 1, &peer, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	for (seq = 1; seq <= count; seq++) {
		word = (uint64_t)NATIVE << 56 | life << 40 | 1ULL << 36 | seq;
		fill(buf, size_of(word), word);
		note(POSTED, word, BOX, 1);
		while ((rc = fi_tsend(ep, buf, size_of(word), NULL, peer, word, &ctx)) == -FI_EAGAIN)
			fi_cq_read(cq, NULL, 0);
		must(rc, "fi_tsend");
		while ((rc = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
			usleep(50);
		if (rc == -FI_EAVAIL) {
			memset(&bad, 0, sizeof bad);
			fi_cq_readerr(cq, &bad, 0);
		}
		note(rc == 1 ? DONE : FAILED, word, BOX, 1);
		memset(buf, 0x5a, most);
		usleep(random() % 20000);
	}
}

int main(int argc, char **argv)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_cq_attr cqa = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr ava = { .type = FI_AV_TABLE };

	if (argc < 8)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	journal = open(argv[5], O_CREAT | O_WRONLY | O_APPEND, 0644);
	epoch = strtoull(argv[6], NULL, 10);
	most = strtoull(argv[7], NULL, 10);
	srandom((unsigned)getpid());
	hints->caps = FI_MSG | FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(argv[2]);
	must(fi_getinfo(FI_VERSION(1, 17), argv[3], strcmp(argv[4], "0") ? argv[4] : NULL, FI_SOURCE, hints, &info),
		"fi_getinfo");
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &cqa, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &ava, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	if (!strcmp(argv[1], "server"))
		server();
	else
		client(strtoull(argv[8], NULL, 10), argv[3], atoi(argv[9]), strtoull(argv[10], NULL, 10));
	fi_close(&ep->fid);
	fi_close(&av->fid);
	fi_close(&cq->fid);
	fi_close(&domain->fid);
	fi_close(&fabric->fid);
	printf("CLOSED 1\n");
	return 0;
}
