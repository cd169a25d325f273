#include "calls.h"
#include <stdarg.h>

const char *where = "";
static int number, first, nskip, skip[64], quiet;

int tells(const char *what, ...)
{
	int n = number++;
	for (int i = 0; i < nskip; i++)
		if (skip[i] == n)
			return 0;
	if ((quiet = n < first))
		return 1;
	va_list args;
	va_start(args, what);
	printf("%d\t%s: ", number - 1, where);
	vprintf(what, args);
	printf("\t");
	fflush(stdout);
	va_end(args);
	return 1;
}

void returned(long long rc)
{
	if (!quiet) {
		printf("%lld\n", rc);
		fflush(stdout);
	}
}

void drain(void)
{
	for (int i = 0; i < 20; i++) {
		struct end *ends[] = {&a, &b};
		for (int k = 0; k < 2; k++) {
			struct fi_cq_tagged_entry e[16];
			struct fi_cq_err_entry err = {0};
			if (ends[k]->cq && fi_cq_read(ends[k]->cq, e, 16) == -FI_EAVAIL)
				fi_cq_readerr(ends[k]->cq, &err, 0);
		}
	}
}

static const struct { const char *name; void (*run)(void); } families[] = {
	{"info", info_calls}, {"fabric", fabric_calls}, {"queue", queue_calls},
		{"vector", vector_calls}, {"region", region_calls},
	{"endpoint", endpoint_calls}, {"option", option_calls}, {"connection", connection_calls},
	{"transfer", transfer_calls}, {"atomic", atomic_calls},
	{"group", group_calls}, {"context", context_calls}, {"work", work_calls}, {"object", object_calls},
};

// main's arguments are provider, endpoint type, family of calls, the number of the first call to print, and the
// numbers of calls to leave out, because they killed the program.
int main(int argc, char **argv)
{
	IS(argc >= 5 && argc < 5 + 64);
	begin(argc, argv);
	alarm(10);
	first = atoi(argv[4]);
	while (nskip < argc - 5) {
		skip[nskip] = atoi(argv[5 + nskip]);
		nskip++;
	}
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(families[i].name, argv[3])) {
			families[i].run();
			printf("end\n");
			fflush(stdout);
			_exit(0); // without closing anything: the test does not compare that
		}
	return 2;
}
