//go:build linux

// Objects in C memory, and the calls that every object has (fabric(7)).
#include <pthread.h>
#include <stdlib.h>
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

int gf_forked;

static int fid_close(fid_t f) { return gf_forked ? -FI_EOPBADSTATE : goClose(GF_ID(f)); }

static int fid_bind(fid_t f, fid_t with, uint64_t flags)
{
	if (gf_forked)
		return -FI_EOPBADSTATE;
	return with ? goBind(GF_ID(f), GF_ID(with), flags) : -FI_EINVAL;
}

static int fid_control(fid_t f, int command, void *arg) { return gf_forked ? -FI_EOPBADSTATE : goControl(GF_ID(f), command, arg); }

static int fid_ops_open(fid_t f, const char *name, uint64_t flags, void **ops, void *context) { return -FI_ENOSYS; }

static int fid_tostr(const struct fid *f, char *buf, size_t len) { return -FI_ENOSYS; }

static int fid_ops_set(fid_t f, const char *name, uint64_t flags, void *ops, void *context) { return -FI_ENOSYS; }

static struct fi_ops fid_ops = {sizeof(struct fi_ops), fid_close, fid_bind, fid_control, fid_ops_open, fid_tostr, fid_ops_set};

static size_t class_size(size_t fclass)
{
	switch (fclass) {
	case FI_CLASS_FABRIC: return sizeof(struct fid_fabric);
	case FI_CLASS_DOMAIN: return sizeof(struct fid_domain);
	case FI_CLASS_EP: case FI_CLASS_SEP: case FI_CLASS_RX_CTX: case FI_CLASS_TX_CTX: case FI_CLASS_SRX_CTX: return sizeof(struct gf_ep);
	case FI_CLASS_STX_CTX: return sizeof(struct fid_stx);
	case FI_CLASS_PEP: return sizeof(struct fid_pep);
	case FI_CLASS_AV: return sizeof(struct fid_av);
	case FI_CLASS_AV_SET: return sizeof(struct fid_av_set);
	case FI_CLASS_MR: return sizeof(struct fid_mr);
	case FI_CLASS_EQ: return sizeof(struct fid_eq);
	case FI_CLASS_CQ: return sizeof(struct gf_cq);
	case FI_CLASS_CNTR: return sizeof(struct gf_cntr);
	case FI_CLASS_WAIT: return sizeof(struct fid_wait);
	case FI_CLASS_POLL: return sizeof(struct fid_poll);
	case FI_CLASS_MC: return sizeof(struct fid_mc);
	}
	return sizeof(struct fid); // FI_CLASS_CONNREQ
}

static void set_endpoint(struct fid_ep *ep)
{
	ep->ops = &gf_ep_ops;
	ep->cm = &gf_cm_ops;
	ep->msg = &gf_msg_ops;
	ep->rma = &gf_rma_ops;
	ep->tagged = &gf_tagged_ops;
	ep->atomic = &gf_atomic_ops;
	ep->collective = &gf_collective_ops;
}

static void set_ops(void *p, size_t fclass)
{
	switch (fclass) {
	case FI_CLASS_FABRIC: ((struct fid_fabric *)p)->ops = &gf_fabric_ops; break;
	case FI_CLASS_DOMAIN:
		((struct fid_domain *)p)->ops = &gf_domain_ops;
		((struct fid_domain *)p)->mr = &gf_mr_ops;
		break;
	case FI_CLASS_EP: case FI_CLASS_SEP: case FI_CLASS_RX_CTX: case FI_CLASS_TX_CTX: case FI_CLASS_SRX_CTX: set_endpoint(p); break;
	case FI_CLASS_STX_CTX: ((struct fid_stx *)p)->ops = &gf_ep_ops; break;
	case FI_CLASS_PEP:
		((struct fid_pep *)p)->ops = &gf_ep_ops;
		((struct fid_pep *)p)->cm = &gf_cm_ops;
		break;
	case FI_CLASS_AV: ((struct fid_av *)p)->ops = &gf_av_ops; break;
	case FI_CLASS_AV_SET: ((struct fid_av_set *)p)->ops = &gf_av_set_ops; break;
	case FI_CLASS_EQ: ((struct fid_eq *)p)->ops = &gf_eq_ops; break;
	case FI_CLASS_CQ: ((struct fid_cq *)p)->ops = &gf_cq_ops; break;
	case FI_CLASS_CNTR: ((struct fid_cntr *)p)->ops = &gf_cntr_ops; break;
	case FI_CLASS_WAIT: ((struct fid_wait *)p)->ops = &gf_wait_ops; break;
	case FI_CLASS_POLL: ((struct fid_poll *)p)->ops = &gf_poll_ops; break;
	}
}

void *gf_new(size_t fclass, uint64_t id, void *context)
{
	struct gf_head *h = calloc(1, sizeof *h + class_size(fclass));
	if (!h)
		return NULL;
	h->id = id;
	h->magic = GF_MAGIC;
	struct fid *f = (struct fid *)(h + 1);
	f->fclass = fclass;
	f->context = context;
	f->ops = &fid_ops;
	set_ops(f, fclass);
	return f;
}

void gf_free(void *fid)
{
	struct gf_head *h = (struct gf_head *)fid - 1;
	h->magic = 0;
	h->id = 0;
	free(h);
}

// A NIC is plain memory with one call, fi_close.
static int nic_close(fid_t f)
{
	gf_nic_free(f);
	return 0;
}

static int nic_bind(fid_t f, fid_t with, uint64_t flags) { return -FI_ENOSYS; }
static int nic_control(fid_t f, int command, void *arg) { return -FI_ENOSYS; }

static struct fi_ops nic_ops = {sizeof(struct fi_ops), nic_close, nic_bind, nic_control, fid_ops_open, fid_tostr, fid_ops_set};

void *gf_nic_new(void)
{
	struct fid_nic *nic = calloc(1, sizeof *nic);
	if (nic) {
		nic->fid.fclass = FI_CLASS_NIC;
		nic->fid.ops = &nic_ops;
	}
	return nic;
}

void gf_nic_free(void *p)
{
	struct fid_nic *nic = p;
	if (nic->device_attr) {
		char *text[] = {nic->device_attr->name, nic->device_attr->device_id, nic->device_attr->device_version, nic->device_attr->vendor_id,
			nic->device_attr->driver, nic->device_attr->firmware};
		for (size_t i = 0; i < sizeof text / sizeof *text; i++)
			free(text[i]);
		free(nic->device_attr);
	}
	free(nic->bus_attr);
	if (nic->link_attr) {
		free(nic->link_attr->address);
		free(nic->link_attr->network_type);
		free(nic->link_attr);
	}
	free(nic->prov_attr);
	free(nic);
}
