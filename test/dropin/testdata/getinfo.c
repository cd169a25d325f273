// fi_getinfo(3) and related calls: hints, version 0.0, duplicates, texts, parameters, the log, errors.
#include "pair.h"
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

static struct fi_info *get(struct fi_info *hints)
{
	struct fi_info *info;
	OK(fi_getinfo(API, NULL, NULL, 0, hints, &info));
	IS(info);
	return info;
}

static void hints(void)
{
	struct fi_info *h = hints_for(), *info = get(h);
	IS(!strcmp(info->fabric_attr->prov_name, options.provider));
	for (struct fi_info *i = info; i; i = i->next) {
		IS(!strncmp(i->fabric_attr->prov_name, options.provider, strlen(options.provider))); // or a layer on top of it
		EQUAL(i->ep_attr->type, options.type);
		EQUAL(i->caps & FI_MSG, FI_MSG);
		EQUAL(i->fabric_attr->api_version, API);
		EQUAL(i->addr_format, FI_SOCKADDR_IN);
		IS(i->tx_attr && i->rx_attr && i->domain_attr && i->domain_attr->name && i->fabric_attr->name);
	}
	fi_freeinfo(info);
	// The result repeats the threading model that the program promises. A retired model becomes one that serves its
	// programs.
	enum fi_threading levels[][2] = {{FI_THREAD_SAFE, FI_THREAD_SAFE}, {FI_THREAD_DOMAIN, FI_THREAD_DOMAIN},
		{FI_THREAD_COMPLETION, FI_THREAD_COMPLETION},
		{FI_THREAD_FID, FI_THREAD_SAFE}, {FI_THREAD_ENDPOINT, FI_THREAD_COMPLETION}};
	for (int i = 0; i < 5; i++) {
		h->domain_attr->threading = levels[i][0];
		info = get(h);
		EQUAL(info->domain_attr->threading, levels[i][1]);
		fi_freeinfo(info);
	}
	h->domain_attr->threading = FI_THREAD_UNSPEC;
	int modes[] = {0, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT,
		FI_MR_BASIC};
	if (options.type != FI_EP_DGRAM)
		h->caps |= FI_RMA;
	for (int i = 0; i < 4; i++) {
		h->domain_attr->mr_mode = modes[i];
		info = get(h);
		if (modes[i] != FI_MR_BASIC)
			EQUAL(info->domain_attr->mr_mode & ~modes[i], 0); // no more than the program supports
		fi_freeinfo(info);
	}
	free(h->fabric_attr->prov_name);
	h->fabric_attr->prov_name = strdup("nonesuch");
	FAILS(fi_getinfo(API, NULL, NULL, 0, h, &info), FI_ENODATA);
	IS(!info);
	fi_freeinfo(h);
}

static void bare(void)
{
	struct fi_info *info;
	OK(fi_getinfo(FI_VERSION(0, 0), NULL, NULL, 0, NULL, &info));
	IS(info);
	fi_freeinfo(info);
	FAILS(fi_getinfo(FI_VERSION(99, 0), NULL, NULL, 0, NULL, &info), FI_ENOSYS);
	OK(fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, NULL, &info));
	fi_freeinfo(info);
	IS(fi_getinfo(API, "no.such.host.invalid", "1", 0, NULL, &info) < 0);
	fi_freeinfo(NULL);
	struct fi_info *prov;
	OK(fi_getinfo(API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &prov));
	int found = 0;
	for (struct fi_info *i = prov; i; i = i->next)
		found += !strcmp(i->fabric_attr->prov_name, "tcp");
	IS(found);
	fi_freeinfo(prov);
}

static void names(void)
{
	struct fi_info *h = hints_for(), *info;
	struct sockaddr_in *to;
	OK(fi_getinfo(API, "127.0.0.1", "4321", 0, h, &info));
	to = info->dest_addr;
	IS(to && info->dest_addrlen == sizeof *to);
	EQUAL(to->sin_family, AF_INET);
	EQUAL(ntohs(to->sin_port), 4321);
	fi_freeinfo(info);
	OK(fi_getinfo(API, "127.0.0.1", "4321", FI_SOURCE | FI_NUMERICHOST, h, &info));
	to = info->src_addr;
	EQUAL(ntohs(to->sin_port), 4321);
	EQUAL(to->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	fi_freeinfo(info);
	fi_freeinfo(h);
}

static void duplicates(void)
{
	struct fi_info *h = hints_for(), *info = get(h), *d = fi_dupinfo(info);
	IS(d && !d->next);
	IS(d->fabric_attr != info->fabric_attr && !strcmp(d->fabric_attr->name, info->fabric_attr->name));
	EQUAL(d->src_addrlen, info->src_addrlen);
	IS(!memcmp(d->src_addr, info->src_addr, d->src_addrlen));
	EQUAL(d->ep_attr->max_msg_size, info->ep_attr->max_msg_size);
	EQUAL(d->domain_attr->mr_mode, info->domain_attr->mr_mode);
	EQUAL(d->tx_attr->inject_size, info->tx_attr->inject_size);
	EQUAL(!d->nic, !info->nic);
	fi_freeinfo(info);
	struct fi_info *list;
	OK(fi_getinfo(API, NULL, NULL, 0, d, &list)); // a result can be used as hints
	fi_freeinfo(list);
	fi_freeinfo(d);
	fi_freeinfo(h);
	struct fi_info bare = {.caps = FI_MSG}; // the structure without its attributes
	d = fi_dupinfo(&bare);
	IS(d && !d->tx_attr && !d->rx_attr && !d->ep_attr && !d->domain_attr && !d->fabric_attr && !d->nic);
	fi_freeinfo(d);
	struct fi_info *empty = fi_dupinfo(NULL);
	IS(empty && empty->tx_attr && empty->rx_attr && empty->ep_attr && empty->domain_attr && empty->fabric_attr);
	fi_freeinfo(empty);
}

static void texts(void)
{
	uint64_t caps = FI_MSG | FI_RMA;
	uint32_t type = FI_EP_RDM;
	char small[8], large[8192];
	struct fi_info *h = hints_for(), *info = get(h);
	IS(!strcmp(fi_tostr(&type, FI_TYPE_EP_TYPE), "FI_EP_RDM"));
	IS(strstr(fi_tostr(&caps, FI_TYPE_CAPS), "FI_RMA"));
	IS(strstr(fi_tostr("", FI_TYPE_VERSION), "2.6"));
	IS(strstr(fi_tostr_r(large, sizeof large, info, FI_TYPE_INFO), options.provider));
	IS(fi_tostr_r(small, sizeof small, info, FI_TYPE_INFO) == small && memchr(small, 0, sizeof small));
	fi_tostr_r(small, 0, info, FI_TYPE_INFO);
	IS(fi_tostr(&type, 9999)); // an unknown type
	IS(!strcmp(fi_strerror(FI_EAGAIN), "Resource temporarily unavailable"));
	IS(strlen(fi_strerror(FI_ETRUNC)) && strlen(fi_strerror(-FI_ETRUNC)) && strlen(fi_strerror(123456)));
	EQUAL(fi_version(), FI_VERSION(2, 6));
	fi_freeinfo(info);
	fi_freeinfo(h);
}

static void params(void)
{
	struct fi_provider prov = {.name = "mine;own"};
	struct fi_param *list;
	int n, found = 0, i = 0, yes = 0;
	size_t size = 0;
	char *s = NULL;
	OK(fi_param_define(&prov, "number", FI_PARAM_INT, "a number of %d", 3));
	OK(fi_param_define(&prov, "flag", FI_PARAM_BOOL, "a flag"));
	OK(fi_param_define(&prov, "size", FI_PARAM_SIZE_T, "a size"));
	OK(fi_param_define(&prov, "text", FI_PARAM_STRING, "a text"));
	FAILS(fi_param_get(&prov, "number", &i), FI_ENODATA);
	FAILS(fi_param_get(&prov, "unknown", &i), FI_ENOENT);
	setenv("FI_MINE_OWN_NUMBER", "-17", 1);
	setenv("FI_MINE_OWN_FLAG", "On", 1);
	setenv("FI_MINE_OWN_SIZE", "123456789012", 1);
	setenv("FI_MINE_OWN_TEXT", "hello", 1);
	OK(fi_param_get(&prov, "number", &i));
	OK(fi_param_get(&prov, "flag", &yes));
	OK(fi_param_get(&prov, "size", &size));
	OK(fi_param_get(&prov, "text", &s));
	EQUAL(i, -17);
	EQUAL(yes, 1);
	EQUAL(size, 123456789012);
	IS(!strcmp(s, "hello"));
	setenv("FI_MINE_OWN_NUMBER", "seven", 1);
	FAILS(fi_param_get(&prov, "number", &i), FI_EINVAL);
	OK(fi_getparams(&list, &n));
	for (int k = 0; k < n; k++)
		found += !strcmp(list[k].name, "FI_PROVIDER") || !strcmp(list[k].name, "FI_MINE_OWN_NUMBER");
	EQUAL(found, 2);
	fi_freeparams(list);
	IS(!fi_log_enabled(&prov, FI_LOG_DEBUG, FI_LOG_CORE));
	fi_log(&prov, FI_LOG_WARN, FI_LOG_CORE, "params", 1, "a line of the log: %d\n", 7);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	hints();
	bare();
	names();
	duplicates();
	texts();
	params();
	return 0;
}
