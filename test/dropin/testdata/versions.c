// Programs that were linked with older libfabrics call older versions of the symbols, with shorter structures. Here
// each structure ends at the end of a page, and the next page is not mapped. An access beyond the structure of the
// version causes a fault.
#define _GNU_SOURCE
#include "pair.h"
#include <dlfcn.h>
#include <sys/mman.h>

typedef int getinfo_t(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **);
typedef void freeinfo_t(struct fi_info *);
typedef struct fi_info *dupinfo_t(const struct fi_info *);
typedef int fabric_t(struct fi_fabric_attr *, struct fid_fabric **, void *);

static void *versioned(const char *name, int abi)
{
	char version[32];
	snprintf(version, sizeof version, "FABRIC_1.%d", abi);
	void *p = dlvsym(RTLD_DEFAULT, name, version);
	if (!p)
		failed(__FILE__, __LINE__, name, abi);
	return p;
}

// edge returns n bytes at the end of a page: a copy of from, then bytes of all ones.
static void *edge(const void *from, size_t have, size_t n)
{
	size_t page = sysconf(_SC_PAGESIZE);
	n = (n + 7) & ~7ul;
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	IS(p != MAP_FAILED);
	OK(mprotect(p + page, page, PROT_NONE));
	p += page - n;
	memset(p, 0xff, n);
	memcpy(p, from, n < have ? n : have);
	return p;
}

// The lengths of the structures since a version: the length in the headers of 1.17 (1.3), and what was added later.
static size_t domain_size(int abi)
{
	size_t now = sizeof(struct fi_domain_attr);
	switch (abi) {
	case 0: return offsetof(struct fi_domain_attr, cntr_cnt);
	case 1: case 2: return offsetof(struct fi_domain_attr, tclass);
	case 3: return now;
	case 7: return now + 8;  // max_ep_auth_key
	case 8: return now + 16; // max_group_id
	case 9: return now + 32; // max_cntr_value, max_err_cntr_value
	}
	return now + 40; // max_xpu_ctx_cnt
}

static struct fi_info *short_hints(const struct fi_info *h, int abi)
{
	struct fi_info copy = *h;
	struct fi_fabric_attr fabric = *h->fabric_attr;
	size_t domain = domain_size(abi);
	char wide[sizeof(struct fi_domain_attr) + 64] = {0}, ep[sizeof(struct fi_ep_attr) + 8] = {0};
	if (abi == 0)
		fabric.api_version = 0xffffffff; // it was padding and may have any value
	memcpy(wide, h->domain_attr, sizeof(struct fi_domain_attr));
	memcpy(ep, h->ep_attr, sizeof(struct fi_ep_attr));
	copy.tx_attr = edge(h->tx_attr, sizeof *h->tx_attr,
		abi < 3 ? offsetof(struct fi_tx_attr, tclass) : sizeof *h->tx_attr);
	copy.rx_attr = edge(h->rx_attr, sizeof *h->rx_attr, sizeof *h->rx_attr);
	copy.ep_attr = edge(ep, sizeof ep,
		abi < 1 ? offsetof(struct fi_ep_attr, auth_key_size) : abi < 10 ? sizeof(struct fi_ep_attr) : sizeof ep);
	copy.domain_attr = edge(wide, sizeof wide, domain);
	copy.fabric_attr = edge(&fabric, sizeof fabric, sizeof fabric);
	return edge(&copy, sizeof copy, abi < 2 ? offsetof(struct fi_info, nic) : sizeof copy);
}

int main(int argc, char **argv)
{
	static const int abis[] = {0, 1, 2, 3, 7, 8, 9, 10};
	begin(argc, argv);
	for (size_t i = 0; i < sizeof abis / sizeof *abis; i++) {
		int abi = abis[i];
		getinfo_t *getinfo = versioned("fi_getinfo", abi);
		freeinfo_t *freeinfo = versioned("fi_freeinfo", abi);
		dupinfo_t *dupinfo = versioned("fi_dupinfo", abi);
		fabric_t *open_fabric = versioned("fi_fabric", abi > 0);
		struct fi_info *plain = hints_for(), *h = short_hints(plain, abi), *list, *dup;
		struct fid_fabric *fabric;
		OK(getinfo(abi < 3 ? FI_VERSION(1, 4) : API, "127.0.0.1", NULL, FI_SOURCE, h, &list));
		IS(list && !strcmp(list->fabric_attr->prov_name, options.provider));
		EQUAL(list->ep_attr->type, options.type);
		dup = dupinfo(h);
		IS(dup && !strcmp(dup->fabric_attr->prov_name, options.provider));
		EQUAL(dup->ep_attr->type, options.type);
		EQUAL(dup->caps, h->caps);
		IS(!dup->ep_attr->auth_key && !dup->nic);
		freeinfo(dup);
		dup = dupinfo(short_hints(list, abi)); // a copy that the program made itself
		IS(dup && !strcmp(dup->domain_attr->name, list->domain_attr->name));
		EQUAL(dup->ep_attr->max_msg_size, list->ep_attr->max_msg_size);
		EQUAL(dup->src_addrlen, list->src_addrlen);
		freeinfo(dup);
		dup = dupinfo(NULL);
		IS(dup);
		freeinfo(dup);
		struct fi_info *mine = short_hints(list, abi);
		OK(open_fabric(mine->fabric_attr, &fabric, NULL));
		struct fid_domain *domain;
		OK(fi_close(&fabric->fid));
		OK(open_fabric(list->fabric_attr, &fabric, NULL));
		OK(fi_domain(fabric, list, &domain, NULL));
		OK(fi_close(&domain->fid));
		OK(fi_close(&fabric->fid));
		freeinfo(list);
		fi_freeinfo(plain);
	}
	return 0;
}
