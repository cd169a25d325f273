// How an endpoint's datagrams are moved (docs/af-xdp.md): option FI_PROV_SPECIFIC | 1 of this libfabric. With provider
// and endpoint type as arguments, the program runs over loopback, which has no choice. With an address, that of
// another such program, and "first" or "second", it runs between the two.
#include "pair.h"
#include <arpa/inet.h>

#define LINK ((int)(FI_PROV_SPECIFIC | 1))
enum { SOCKETS = 1, XDP, AUTO };

static int get(void)
{
	size_t v = 0, len = sizeof v;
	OK(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, LINK, &v, &len));
	EQUAL(len, sizeof v);
	return (int)v;
}

static int set(size_t v) { return fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, LINK, &v, sizeof v); }

static void wrong(void)
{
	size_t v = XDP, len = 1;
	FAILS(set(0), FI_EINVAL);
	FAILS(set(AUTO + 1), FI_EINVAL);
	FAILS(set(1ull << 32 | XDP), FI_EINVAL);
	IS(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, LINK, &v, 1) < 0);
	IS(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, LINK, &v, &len) < 0);
}

static void loopback(void)
{
	size_t v = 0, len = sizeof v;
	pair_open();
	if (strncmp(options.provider, "udp", 3)) {
		FAILS(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, LINK, &v, &len), FI_ENOPROTOOPT);
		FAILS(set(SOCKETS), FI_ENOPROTOOPT);
	} else {
		wrong();
		FAILS(set(XDP), FI_EOPNOTSUPP); // lo has no AF_XDP
		EQUAL(get(), SOCKETS);
		OK(set(AUTO));
		EQUAL(get(), SOCKETS);
		OK(set(SOCKETS));
	}
	pair_close();
}

// through returns how many datagrams the sockets of this network namespace have sent.
static long through(void)
{
	char line[512];
	long n = -1;
	FILE *f = fopen("/proc/self/net/snmp", "r");
	IS(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Udp: %*d %*d %*d %ld", &n) == 1)
			break;
	fclose(f);
	IS(n >= 0);
	return n;
}

static void open_at(const char *mine, const char *theirs)
{
	struct fi_info *hints = hints_for();
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 256};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7000)};
	OK(fi_getinfo(API, mine, "7000", FI_SOURCE, hints, &a.info));
	fi_freeinfo(hints);
	OK(fi_fabric(a.info->fabric_attr, &a.fabric, NULL));
	OK(fi_domain(a.fabric, a.info, &a.domain, NULL));
	OK(fi_cq_open(a.domain, &cq, &a.cq, NULL));
	OK(fi_av_open(a.domain, &av, &a.av, NULL));
	endpoint_open(&a, a.info);
	EQUAL(inet_pton(AF_INET, theirs, &to.sin_addr), 1);
	EQUAL(fi_av_insert(a.av, &to, 1, &a.peer, 0, NULL), 1);
}

static struct fi_context2 rx, tx;
static char in[64], out[64];

static void receive(void) { POST(fi_recv(a.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &rx)); }

// trips makes n round trips. It returns the first byte of the last message that arrived, because the buffer may hold
// the next one by now.
static char trips(int n, int first)
{
	char last = 0;
	for (int i = 0; i < n; i++) {
		if (first)
			POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &tx));
		EQUAL(completion(&a, &rx, NULL).len, sizeof in);
		last = in[0];
		receive();
		if (!first)
			POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &tx));
		completion(&a, &tx, NULL);
	}
	return last;
}

// goes makes round trips until both ends have used the wanted link for KEPT rounds in a row. Each message says whether
// its sender has, so both ends stop after the same round. In the first rounds the neighbour may be unresolved: the
// system answers late while it attaches programs.
static void goes(int way, int first)
{
	enum { ROUNDS = 200, EACH = 20, KEPT = 3 };
	int kept = 0;
	for (int r = 0; r < ROUNDS; r++) {
		long before = through();
		char mine = kept >= KEPT, theirs;
		out[0] = mine;
		theirs = trips(EACH, first);
		if (mine && theirs)
			return;
		kept = (way == XDP ? through() - before < EACH / 2 : through() - before >= EACH) ? kept + 1 : 0;
		usleep(2000);
	}
	printf("in none of %d rounds did both ends' messages go the way they were to, %d\n", ROUNDS, way);
	IS(0);
}

int main(int argc, char **argv)
{
	static const int want[][2] = {{SOCKETS, SOCKETS}, {XDP, XDP}, {SOCKETS, SOCKETS},
		{AUTO, XDP}, {XDP, XDP}, {SOCKETS, SOCKETS}};
	begin(argc, argv);
	if (argc == 3) {
		loopback();
		return 0;
	}
	int first = !strcmp(argv[5], "first");
	open_at(argv[3], argv[4]);
	EQUAL(get(), SOCKETS);
	wrong();
	receive();
	puts("ready");
	fflush(stdout);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		OK(set(want[i][0]));
		EQUAL(get(), want[i][1]);
		goes(want[i][1], first);
	}
	OK(fi_close(&a.ep->fid));
	OK(fi_close(&a.cq->fid));
	OK(fi_close(&a.av->fid));
	OK(fi_close(&a.domain->fid));
	OK(fi_close(&a.fabric->fid));
	fi_freeinfo(a.info);
	return 0;
}
