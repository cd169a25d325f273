// Names of fabricd's directory: fabric://job/N is 10.0.0.N:7471, for N below 3.
#include "pair.h"
#include <arpa/inet.h>

static void check(struct fid_av *av, fi_addr_t at, const char *text)
{
	struct sockaddr_in got;
	size_t len = sizeof got;
	char buf[64];
	OK(fi_av_lookup(av, at, &got, &len));
	len = sizeof buf;
	IS(!strcmp(fi_av_straddr(av, &got, buf, &len), text));
}

static void info(const char *node, int rc)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;
	hints->fabric_attr->prov_name = strdup(options.provider);
	hints->ep_attr->type = options.type;
	hints->mode = ~0ULL;
	EQUAL(fi_getinfo(API, node, NULL, 0, hints, &list), rc);
	if (!rc)
		EQUAL(ntohs(((struct sockaddr_in *)list->dest_addr)->sin_port), 7471);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

int main(int argc, char **argv)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	struct fid_av *av;
	fi_addr_t at[4];
	begin(argc, argv);
	end_open(&a);
	OK(fi_av_open(a.domain, &attr, &av, NULL));
	EQUAL(fi_av_insertsvc(av, "fabric://job/2", NULL, at, 0, NULL), 1);
	check(av, at[0], "fi_sockaddr_in://10.0.0.2:7471");
	EQUAL(fi_av_insertsym(av, "fabric://job/1", 2, NULL, 1, at, 0, NULL), 2);
	check(av, at[0], "fi_sockaddr_in://10.0.0.1:7471");
	check(av, at[1], "fi_sockaddr_in://10.0.0.2:7471");
	FAILS(fi_av_insertsvc(av, "fabric://job/3", NULL, at, 0, NULL), FI_ENODATA);
	FAILS(fi_av_insertsvc(av, "fabric://job/2", "7471", at, 0, NULL), FI_EINVAL);
	info("fabric://job/1", 0);
	info("fabric://job/3", -FI_ENODATA);
	OK(fi_close(&av->fid));
	pair_close();
	return 0;
}
