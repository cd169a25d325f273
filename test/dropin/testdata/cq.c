// Completion queues (fi_cq(3)): formats, errors, waits that time out or are signalled, descriptors in epoll, sources,
// selective completion.
#include "pair.h"
#include <pthread.h>
#include <sys/epoll.h>

static char out[64], in[256];
static struct fi_context2 ctx[8];

// formats reads entries of each format into an array. An entry that is too long would overwrite the next one.
static void formats(enum fi_cq_format format, size_t size)
{
	struct fi_cq_attr attr = {.format = format, .wait_obj = FI_WAIT_NONE, .size = 64};
	struct fid_cq *queue;
	static uint8_t entries[4 * sizeof(struct fi_cq_tagged_entry)];
	size_t n = 0;
	options.wait_obj = FI_WAIT_NONE;
	end_open(&a);
	end_open(&b);
	OK(fi_cq_open(b.domain, &attr, &queue, NULL));
	if (options.type == FI_EP_MSG) {
		OK(fi_close(&b.cq->fid));
		b.cq = queue;
	} else { // its endpoint is enabled; it uses another queue
		OK(fi_close(&b.ep->fid));
		OK(fi_close(&b.cq->fid));
		b.cq = queue;
		endpoint_open(&b, b.info);
	}
	struct fid_cq *mine = b.cq;
	b.cq = NULL; // the helpers would read it in another format
	if (options.type == FI_EP_MSG) {
		b.cq = mine;
		end_connect();
		b.cq = NULL;
	} else
		end_connect();
	for (int i = 0; i < 3; i++)
		POST(fi_recv(b.ep, in + 64 * i, 64, NULL, FI_ADDR_UNSPEC, &ctx[i]));
	for (int i = 0; i < 3; i++)
		POST(fi_inject(a.ep, out, 10 + i, a.peer));
	memset(entries, 0xee, sizeof entries);
	uint64_t end = now_ms() + 10000;
	while (n < 3) {
		ssize_t got = fi_cq_read(mine, entries + n * size, 3 - n);
		if (got == -FI_EAGAIN)
			progress(__FILE__, __LINE__);
		else {
			IS(got > 0);
			n += got;
		}
		IS(now_ms() < end);
	}
	for (int i = 0; i < 3; i++) {
		struct fi_cq_tagged_entry e = {0};
		memcpy(&e, entries + i * size, size);
		IS(e.op_context == &ctx[i]);
		if (size >= sizeof(struct fi_cq_msg_entry)) {
			IS(e.flags & FI_RECV);
			EQUAL(e.len, 10 + i);
		}
	}
	for (size_t i = 3 * size; i < sizeof entries; i++)
		EQUAL(entries[i], 0xee);
	b.cq = mine;
	pair_close();
}

static void *signaller(void *cq)
{
	usleep(20000);
	OK(fi_cq_signal(cq));
	return NULL;
}

static void waits(void)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t src = 0;
	pthread_t thread;
	uint64_t before = now_ms();
	FAILS(fi_cq_sread(b.cq, &e, 1, NULL, 50), FI_EAGAIN);
	IS(now_ms() - before >= 45);
	EQUAL(pthread_create(&thread, NULL, signaller, b.cq), 0);
	FAILS(fi_cq_sread(b.cq, &e, 1, NULL, 20000), FI_EAGAIN); // a signal ends the wait without a completion
	IS(now_ms() - before < 15000);
	pthread_join(thread, NULL);
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, 10, NULL, a.peer, &ctx[1]));
	EQUAL(fi_cq_sreadfrom(b.cq, &e, 1, &src, NULL, 10000), 1);
	IS(e.op_context == &ctx[0]);
	if (options.type != FI_EP_MSG)
		EQUAL(src, b.peer);
	completion(&a, &ctx[1], NULL);
}

// descriptor sleeps in epoll as fi_trywait(3) describes.
static void descriptor(void)
{
	struct fid *fids[] = {&b.cq->fid};
	struct fi_cq_tagged_entry e;
	struct epoll_event ev = {.events = EPOLLIN};
	int fd = -1, set = epoll_create1(0), rc;
	OK(fi_control(&b.cq->fid, FI_GETWAIT, &fd));
	IS(fd >= 0);
	OK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev));
	for (int i = 0; i < 20; i++) {
		POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
		POST(fi_send(a.ep, out, 10, NULL, a.peer, &ctx[1]));
		uint64_t end = now_ms() + 10000;
		for (;;) {
			rc = fi_trywait(b.fabric, fids, 1);
			if (rc == 0)
				OK(epoll_wait(set, &ev, 1, 5000));
			else
				EQUAL(rc, -FI_EAGAIN);
			ssize_t n = fi_cq_read(b.cq, &e, 1);
			if (n == 1)
				break;
			EQUAL(n, -FI_EAGAIN);
			IS(now_ms() < end);
		}
		IS(e.op_context == &ctx[0]);
		completion(&a, &ctx[1], NULL);
	}
	// The queue is empty: the descriptor becomes unreadable.
	while (fi_trywait(b.fabric, fids, 1))
		FAILS(fi_cq_read(b.cq, &e, 1), FI_EAGAIN);
	EQUAL(epoll_wait(set, &ev, 1, 20), 0);
	close(set);
}

// ahead leaves completions in the queue. A library that reads ahead must still report them to a thread that is about
// to sleep.
static void ahead(void)
{
	struct fid *fids[] = {&b.cq->fid};
	struct iovec iov = {out, 10};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = a.peer, .context = &ctx[4]};
	struct fi_cq_tagged_entry e;
	ssize_t n;
	uint64_t end = now_ms() + 10000;
	for (int i = 0; i < 4; i++) {
		POST(fi_recv(b.ep, in + 64 * i, 64, NULL, FI_ADDR_UNSPEC, &ctx[i]));
		OK(fi_sendmsg(a.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	}
	for (int i = 0; i < 4; i++) { // b makes progress by itself
		while ((n = fi_cq_read(a.cq, &e, 1)) == -FI_EAGAIN)
			IS(now_ms() < end);
		EQUAL(n, 1);
	}
	for (int i = 0; i < 4; i++) {
		FAILS(fi_trywait(b.fabric, fids, 1), FI_EAGAIN);
		EQUAL(fi_cq_read(b.cq, &e, 1), 1);
		IS(e.op_context == &ctx[i]);
	}
	FAILS(fi_cq_read(b.cq, &e, 1), FI_EAGAIN);
}

static void selective(void)
{
	struct iovec iov = {out, 8};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .context = &ctx[3]};
	options.cq_flags = FI_SELECTIVE_COMPLETION;
	pair_open();
	m.addr = a.peer;
	POST(fi_recv(b.ep, in, 64, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, 8, NULL, a.peer, &ctx[2])); // has no completion
	struct iovec to = {in, 64};
	struct fi_msg r = {.msg_iov = &to, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &ctx[1]};
	POST(fi_recvmsg(b.ep, &r, FI_COMPLETION));
	POST(fi_sendmsg(a.ep, &m, FI_COMPLETION));
	completion(&b, &ctx[1], NULL);
	completion(&a, &ctx[3], NULL);
	nothing(&a);
	nothing(&b);
	pair_close();
	options.cq_flags = 0;
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	formats(FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry));
	formats(FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry));
	formats(FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry));
	formats(FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry));
	formats(FI_CQ_FORMAT_UNSPEC, sizeof(struct fi_cq_entry));
	selective();
	options.wait_obj = FI_WAIT_FD;
	options.caps = FI_MSG | (options.type == FI_EP_MSG ? 0 : FI_SOURCE);
	pair_open();
	waits();
	descriptor();
	if (options.type != FI_EP_DGRAM)
		ahead();
	pair_close();
	return 0;
}
