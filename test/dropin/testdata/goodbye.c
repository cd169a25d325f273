// A sender closes or shuts down and ends, while its peer, another process, reads late. Messages that have completed
// arrive. With an address as argument the program is the sender.
#include "pair.h"
#include <sys/wait.h>

enum { COUNT = 10, SIZE = 60000 };

static char bufs[COUNT][SIZE];
static struct fi_context2 ctx[COUNT];

static void peer_is(struct sockaddr_in *to, const char *port)
{
	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void sender(const char *port, const char *end)
{
	struct sockaddr_in to;
	peer_is(&to, port);
	end_open(&a);
	if (options.type == FI_EP_MSG) {
		endpoint_open(&a, a.info);
		OK(fi_connect(a.ep, &to, NULL, 0));
		event(&a, FI_CONNECTED, NULL);
	} else
		EQUAL(fi_av_insert(a.av, &to, 1, &a.peer, 0, NULL), 1);
	for (int i = 0; i < COUNT; i++) {
		fill(bufs[0], SIZE, i);
		POST(fi_send(a.ep, bufs[0], SIZE, NULL, a.peer, &ctx[0]));
		completion(&a, &ctx[0], NULL);
		memset(bufs[0], 0xee, SIZE); // after an inject the buffer belongs to the program again
	}
	if (!strcmp(end, "shutdown"))
		OK(fi_shutdown(a.ep, 0));
	else
		OK(fi_close(&a.ep->fid));
	_exit(0);
}

static int port_of(fid_t fid)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	OK(fi_getname(fid, &name, &len));
	return ntohs(name.sin_port);
}

static void reader(const char *program, char **argv, const char *end)
{
	char port[16];
	int status;
	end_open(&b);
	if (options.type == FI_EP_MSG) {
		OK(fi_passive_ep(b.fabric, b.info, &b.pep, &b));
		OK(fi_pep_bind(b.pep, &b.eq->fid, 0));
		OK(fi_listen(b.pep));
		snprintf(port, sizeof port, "%d", port_of(&b.pep->fid));
	} else
		snprintf(port, sizeof port, "%d", port_of(&b.ep->fid));
	pid_t child = fork();
	if (!child) {
		execl(program, program, argv[1], argv[2], port, end, NULL);
		_exit(2);
	}
	OK(child);
	if (options.type == FI_EP_MSG) {
		struct fi_eq_cm_entry *e = event(&b, FI_CONNREQ, NULL);
		struct fi_info *request = e->info;
		endpoint_open(&b, request);
		OK(fi_accept(b.ep, NULL, 0));
		event(&b, FI_CONNECTED, NULL);
		fi_freeinfo(request);
	}
	usleep(200000); // the messages arrive before they are read
	for (int i = 0; i < COUNT; i++) {
		POST(fi_recv(b.ep, bufs[i], SIZE, NULL, FI_ADDR_UNSPEC, &ctx[i]));
		EQUAL(completion(&b, &ctx[i], NULL).len, SIZE);
		same(bufs[i], SIZE, i);
	}
	if (options.type == FI_EP_MSG)
		event(&b, FI_SHUTDOWN, NULL);
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
	pair_close();
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	if (argc > 4)
		sender(argv[3], argv[4]);
	reader("/proc/self/exe", argv, "close");
	if (options.type == FI_EP_MSG)
		reader("/proc/self/exe", argv, "shutdown");
	return 0;
}
