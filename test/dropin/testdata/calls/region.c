// Memory regions.
#include "calls.h"

static char memory[8192];
static uint64_t next = 100;

static int reg(const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags)
{
	struct fid_mr *mr = NULL;
	int rc = fi_mr_reg(a.domain, buf, len, access, offset, key, flags, &mr, NULL);
	if (!rc)
		fi_close(&mr->fid);
	return rc;
}

// ATTR registers memory with one attribute changed.
#define ATTR(change, flags) do { \
	struct iovec iov[8] = {{memory, 4096}, {memory + 4096, 64}, {memory, 64}, {memory, 64}, {memory, 64}, {memory, 64}}; \
	struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = 1, .access = FI_REMOTE_READ, .requested_key = next++}; \
	struct fid_mr *mr = NULL; \
	change; \
	NAMED(fi_mr_regattr(a.domain, &attr, flags, &mr), "fi_mr_regattr, %s, %s", #change, #flags); \
	if (mr) \
		fi_close(&mr->fid); \
} while (0)

static void register_some(void)
{
	struct iovec iov[8] = {{memory, 64}, {memory + 64, 64}};
	struct fid_mr *mr = NULL;
	where = "mr";
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, next++, 0));
	CALL(reg(memory, 4096, 0, 0, next++, 0));
	CALL(reg(memory, 4096, FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, next++, 0));
	CALL(reg(memory, 4096, FI_COLLECTIVE, 0, next++, 0));
	CALL(reg(memory, 4096, FI_HMEM, 0, next++, 0));
	CALL(reg(memory, 4096, 1ull << 63, 0, next++, 0));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 64, next++, 0));
	CALL(reg(memory, 0, FI_REMOTE_READ, 0, next++, 0));
	CALL(reg(NULL, 4096, FI_REMOTE_READ, 0, next++, 0));
	CALL(reg(NULL, 0, FI_REMOTE_READ, 0, next++, 0));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, ~0ull, 0));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, next++, FI_RMA_EVENT));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, next++, FI_RMA_PMEM));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, next++, FI_HMEM_DEVICE_ONLY));
	CALL(reg(memory, 4096, FI_REMOTE_READ, 0, next++, 1ull << 61));
	CALL(fi_mr_regv(a.domain, iov, 2, FI_REMOTE_READ, 0, 5000, 0, &mr, NULL));
	CALL(fi_mr_regv(a.domain, iov, 0, FI_REMOTE_READ, 0, 5001, 0, &mr, NULL));
	CALL(fi_mr_regv(a.domain, iov, 1000, FI_REMOTE_READ, 0, 5002, 0, &mr, NULL));
	CALL(fi_mr_reg(a.domain, memory, 64, FI_REMOTE_READ, 0, 6000, 0, &mr, NULL));
	CALL(fi_mr_reg(a.domain, memory, 64, FI_REMOTE_READ, 0, 6000, 0, &mr, NULL)); // the key is in use
	ATTR(, 0);
	ATTR(attr.iov_count = 0, 0);
	ATTR(attr.iov_count = 2, 0);
	ATTR(attr.iov_count = 4, 0);
	ATTR(attr.iov_count = 5, 0);
	ATTR(attr.iface = FI_HMEM_CUDA, 0);
	ATTR(attr.iface = 99, 0);
	ATTR(attr.auth_key_size = 8; attr.auth_key = (uint8_t *)memory, 0);
	ATTR(attr.page_size = 4096, 0);
	ATTR(attr.offset = 7, 0);
	ATTR(, FI_MR_DMABUF);
	ATTR(, FI_MR_SINGLE_USE);
	ATTR(, FI_AUTH_KEY);
}

static void use(void)
{
	struct fid_mr *mr = NULL;
	struct fid_cntr *c = NULL;
	struct fi_cntr_attr cattr = {.wait_obj = FI_WAIT_UNSPEC};
	struct iovec iov = {memory, 64};
	uint64_t base, key;
	uint8_t raw[64];
	size_t size = sizeof raw;
	where = "region";
	OK(fi_mr_reg(a.domain, memory, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7000, 0, &mr, NULL));
	fi_cntr_open(a.domain, &cattr, &c, NULL);
	CALL(fi_mr_desc(mr) == NULL);
	CALL(fi_mr_key(mr) == FI_KEY_NOTAVAIL);
	CALL(fi_mr_enable(mr));
	CALL(fi_mr_refresh(mr, &iov, 1, 0));
	if (c)
		CALL(fi_mr_bind(mr, &c->fid, FI_REMOTE_WRITE));
	if (c)
		CALL(fi_mr_bind(mr, &c->fid, 0));
	CALL(fi_mr_bind(mr, &a.ep->fid, 0));
	CALL(fi_mr_bind(mr, &a.cq->fid, 0));
	CALL(fi_mr_raw_attr(mr, &base, raw, &size, 0));
	size = 1;
	CALL(fi_mr_raw_attr(mr, &base, raw, &size, 0));
	CALL(fi_mr_map_raw(a.domain, 0, raw, 8, &key, 0));
	CALL(fi_mr_unmap_key(a.domain, 12345));
	CALL(fi_mr_refresh(mr, NULL, 0, 0));
	CALL(fi_close(&mr->fid));
}

void region_calls(void)
{
	if (options.type != FI_EP_DGRAM)
		options.caps = FI_MSG | FI_RMA;
	pair_open();
	drain();
	register_some();
	use();
}
