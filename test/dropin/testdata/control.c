// The commands of fi_control and the types of fi_tostr, one by one, as docs/features.md and docs/c-programs.md
// describe them.
#include "pair.h"

#define GET_FD (FI_GETWAITOBJ + 4) // FI_GET_FD of libfabric 2.x

static char memory[64];

// refused makes the commands that no object supports.
static void refused(void)
{
	static const int none[] = {FI_GETFIDFLAG, FI_SETFIDFLAG, FI_REFRESH, FI_DUP, FI_GETWAITOBJ + 1,
		FI_GETWAITOBJ + 2, FI_GETWAITOBJ + 3, 12345};
	struct fid *all[] = {&a.fabric->fid, &a.domain->fid, &a.ep->fid, &a.cq->fid, a.eq ? &a.eq->fid : &a.fabric->fid};
	uint64_t arg[16] = {0};
	for (unsigned o = 0; o < sizeof all / sizeof *all; o++)
		for (unsigned c = 0; c < sizeof none / sizeof *none; c++)
			FAILS(fi_control(all[o], none[c], arg), FI_ENOSYS);
}

// taken makes the supported commands that no other program here makes.
static void taken(void)
{
	int fd = -1, again = -1, obj = -1, backlog = 5;
	OK(fi_control(&a.cq->fid, FI_GETWAIT, &fd));
	OK(fi_control(&a.cq->fid, GET_FD, &again));
	IS(fd >= 0 && fd == again);
	OK(fi_control(&a.cq->fid, FI_GETWAITOBJ, &obj));
	EQUAL(obj, FI_WAIT_FD);
	struct fid_pep *pep;
	if (options.type == FI_EP_MSG) {
		OK(fi_passive_ep(a.fabric, a.info, &pep, NULL));
		OK(fi_control(&pep->fid, FI_BACKLOG, &backlog));
		OK(fi_close(&pep->fid));
	}
	struct fid_mr *mr;
	OK(fi_mr_reg(a.domain, memory, sizeof memory, FI_REMOTE_READ, 0, 9, 0, &mr, NULL));
	uint8_t raw[64];
	uint64_t base, key;
	size_t size = sizeof raw;
	OK(fi_mr_raw_attr(mr, &base, raw, &size, 0));
	OK(fi_mr_map_raw(a.domain, base, raw, size, &key, 0));
	EQUAL(key, fi_mr_key(mr));
	OK(fi_mr_unmap_key(a.domain, key));
	OK(fi_close(&mr->fid));
}

// texts requests a text of each type.
static void texts(void)
{
	// Operations, collectives, memories, logs, attributes of objects, errors, conditions.
	static const int unknown[] = {22, 24, 25, 27, 28, 29, 30, 31, 32, 33, 34};
	uint64_t value[64] = {0};
	for (int type = 0; type < 36; type++) {
		int want = 1;
		for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++)
			want &= unknown[i] != type;
		const void *of = value;
		switch (type) {
		case FI_TYPE_INFO: of = a.info; break;
		case FI_TYPE_TX_ATTR: of = a.info->tx_attr; break;
		case FI_TYPE_RX_ATTR: of = a.info->rx_attr; break;
		case FI_TYPE_EP_ATTR: of = a.info->ep_attr; break;
		case FI_TYPE_DOMAIN_ATTR: of = a.info->domain_attr; break;
		case FI_TYPE_FABRIC_ATTR: of = a.info->fabric_attr; break;
		case FI_TYPE_FID: of = &a.ep->fid; break;
		}
		EQUAL(strcmp(fi_tostr(of, type), "Unknown type") != 0, want);
	}
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	options.caps = FI_MSG | FI_RMA;
	options.wait_obj = FI_WAIT_FD;
	pair_open();
	refused();
	taken();
	texts();
	pair_close();
	return 0;
}
