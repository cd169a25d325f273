// Connections (fi_cm(3), fi_eq(3)): listen, connect, accept and reject with private data, names, shutdown, events.
#include "pair.h"

static struct sockaddr_in name;
static char text[] = "a word with the request", yes[] = "yes, gladly", no[] = "no, thank you";

static void listening(void)
{
	size_t len = 4;
	end_open(&a);
	end_open(&b);
	OK(fi_passive_ep(b.fabric, b.info, &b.pep, &b));
	OK(fi_pep_bind(b.pep, &b.eq->fid, 0));
	OK(fi_listen(b.pep));
	FAILS(fi_getname(&b.pep->fid, &name, &len), FI_ETOOSMALL);
	EQUAL(len, sizeof name);
	OK(fi_getname(&b.pep->fid, &name, &len));
	IS(name.sin_port);
	size_t room = 0, size = sizeof room;
	OK(fi_getopt(&b.pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &room, &size));
	IS(room >= sizeof text);
}

// ask connects a new endpoint of a and returns the request that b sees.
static struct fi_info *ask(void)
{
	size_t len;
	endpoint_open(&a, a.info);
	OK(fi_connect(a.ep, &name, text, sizeof text));
	struct fi_eq_cm_entry *e = event(&b, FI_CONNREQ, &len);
	IS(e->fid == &b.pep->fid);
	EQUAL(len, sizeof *e + sizeof text);
	IS(!memcmp(e->data, text, sizeof text));
	IS(e->info && e->info->handle);
	EQUAL(e->info->ep_attr->type, FI_EP_MSG);
	EQUAL(e->info->handle->fclass, FI_CLASS_CONNREQ);
	return e->info;
}

static void rejected(void)
{
	struct fi_info *request = ask();
	uint32_t got;
	char buf[256];
	ssize_t n;
	struct fi_eq_err_entry err = {0};
	OK(fi_reject(b.pep, request->handle, no, sizeof no));
	fi_freeinfo(request);
	while ((n = fi_eq_sread(a.eq, &got, buf, sizeof buf, 5000, 0)) == -FI_EAGAIN)
		;
	EQUAL(n, -FI_EAVAIL);
	EQUAL(fi_eq_readerr(a.eq, &err, 0), sizeof err);
	EQUAL(err.err, FI_ECONNREFUSED);
	IS(err.fid == &a.ep->fid);
	EQUAL(err.err_data_size, sizeof no);
	IS(!memcmp(err.err_data, no, sizeof no));
	IS(fi_eq_strerror(a.eq, err.prov_errno, err.err_data, buf, sizeof buf));
	OK(fi_close(&a.ep->fid));
	a.ep = NULL;
}

static void accepted(void)
{
	struct fi_info *request = ask();
	struct sockaddr_in peer, mine;
	size_t len = sizeof peer;
	endpoint_open(&b, request);
	OK(fi_accept(b.ep, yes, sizeof yes));
	struct fi_eq_cm_entry *e = event(&a, FI_CONNECTED, &len);
	IS(e->fid == &a.ep->fid);
	EQUAL(len, sizeof *e + sizeof yes);
	IS(!memcmp(e->data, yes, sizeof yes));
	e = event(&b, FI_CONNECTED, &len);
	IS(e->fid == &b.ep->fid);
	fi_freeinfo(request);
	len = sizeof peer;
	OK(fi_getpeer(a.ep, &peer, &len));
	EQUAL(peer.sin_port, name.sin_port);
	OK(fi_getname(&a.ep->fid, &mine, &len));
	OK(fi_getpeer(b.ep, &peer, &len));
	EQUAL(peer.sin_port, mine.sin_port);
	OK(fi_shutdown(a.ep, 0));
	e = event(&b, FI_SHUTDOWN, NULL);
	IS(e->fid == &b.ep->fid);
}

// brief connects with as few calls as possible: without fi_enable, which fi_connect and fi_accept imply
// (fi_endpoint(3)), and with buffers for events that have no room for private data, which is then truncated.
static void brief(void)
{
	static char out[] = "a message", in[64];
	struct fi_eq_cm_entry e;
	uint32_t got;
	ssize_t n;
	OK(fi_close(&a.ep->fid));
	OK(fi_close(&b.ep->fid));
	options.disabled = 1;
	endpoint_open(&a, a.info);
	OK(fi_connect(a.ep, &name, text, sizeof text));
	while ((n = fi_eq_sread(b.eq, &got, &e, sizeof e - 1, 5000, 0)) == -FI_EAGAIN)
		;
	EQUAL(n, -FI_ETOOSMALL); // an event that does not fit stays in the queue; only private data is truncated
	EQUAL(fi_eq_sread(b.eq, &got, &e, sizeof e, 5000, 0), sizeof e);
	EQUAL(got, FI_CONNREQ);
	struct fi_info *request = e.info;
	endpoint_open(&b, request);
	OK(fi_accept(b.ep, yes, sizeof yes));
	fi_freeinfo(request);
	while ((n = fi_eq_sread(a.eq, &got, &e, sizeof e, 5000, 0)) == -FI_EAGAIN)
		progress(__FILE__, __LINE__);
	EQUAL(n, sizeof e);
	EQUAL(got, FI_CONNECTED);
	IS(e.fid == &a.ep->fid);
	event(&b, FI_CONNECTED, NULL);
	POST(fi_recv(b.ep, in, sizeof in, NULL, 0, in));
	POST(fi_send(a.ep, out, sizeof out, NULL, 0, out));
	completion(&a, out, NULL);
	completion(&b, in, NULL);
	IS(!strcmp(in, out));
	options.disabled = 0;
}

// refused connects to a port without a listener.
static void refused(void)
{
	uint32_t got;
	char buf[256];
	struct fi_eq_err_entry err = {0};
	OK(fi_close(&a.ep->fid));
	OK(fi_close(&b.pep->fid));
	b.pep = NULL;
	endpoint_open(&a, a.info);
	int rc = fi_connect(a.ep, &name, NULL, 0);
	if (rc == 0) {
		ssize_t n;
		while ((n = fi_eq_sread(a.eq, &got, buf, sizeof buf, 5000, 0)) == -FI_EAGAIN || (n > 0 && got == FI_SHUTDOWN))
			;
		EQUAL(n, -FI_EAVAIL);
		OK(fi_eq_readerr(a.eq, &err, 0));
		rc = -err.err;
	}
	EQUAL(rc, -FI_ECONNREFUSED);
}

// events writes, peeks at and reads the program's own events, in order.
static void events(void)
{
	struct fi_eq_entry in = {.fid = &a.domain->fid, .context = &in, .data = 42}, out;
	uint32_t got;
	EQUAL(fi_eq_write(a.eq, FI_NOTIFY, &in, sizeof in, 0), sizeof in);
	EQUAL(fi_eq_read(a.eq, &got, &out, 4, FI_PEEK), 4);
	EQUAL(fi_eq_read(a.eq, &got, &out, sizeof out, FI_PEEK), sizeof out);
	EQUAL(fi_eq_sread(a.eq, &got, &out, sizeof out, 1000, 0), sizeof out);
	EQUAL(got, FI_NOTIFY);
	IS(out.fid == in.fid && out.context == in.context && out.data == 42);
	FAILS(fi_eq_read(a.eq, &got, &out, sizeof out, 0), FI_EAGAIN);
	FAILS(fi_eq_sread(a.eq, &got, &out, sizeof out, 10, 0), FI_EAGAIN);
	struct fi_eq_err_entry err = {0};
	FAILS(fi_eq_readerr(a.eq, &err, 0), FI_EAGAIN);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	listening();
	rejected();
	accepted();
	brief();
	refused();
	events();
	pair_close();
	return 0;
}
