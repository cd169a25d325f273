// Fabrics, domains, event queues, wait and poll sets.
#include "calls.h"

static void fabrics(void)
{
	struct fid_fabric *f;
	struct fid_domain *d;
	struct fi_fabric_attr attr = *a.info->fabric_attr;
	where = "fabric";
	OPENED(f, fi_fabric(a.info->fabric_attr, &f, NULL));
	CALL(fi_fabric(NULL, &f, NULL));
	attr.name = "nosuch";
	OPENED(f, fi_fabric(&attr, &f, NULL));
	attr = *a.info->fabric_attr;
	attr.prov_name = "nosuch";
	OPENED(f, fi_fabric(&attr, &f, NULL));
	attr.prov_name = NULL;
	OPENED(f, fi_fabric(&attr, &f, NULL));
	attr = *a.info->fabric_attr;
	attr.api_version = FI_VERSION(9, 9);
	OPENED(f, fi_fabric(&attr, &f, NULL));
	attr.api_version = 0;
	OPENED(f, fi_fabric(&attr, &f, NULL));
	OPENED(d, fi_domain(a.fabric, a.info, &d, NULL));
	OPENED(d, fi_domain2(a.fabric, a.info, &d, 0, NULL));
	OPENED(d, fi_domain2(a.fabric, a.info, &d, FI_PEER, NULL));
	OPENED(d, fi_domain2(a.fabric, a.info, &d, 1ull << 60, NULL));
	CALL(fi_domain(a.fabric, NULL, &d, NULL));
	CALL(fi_close(&a.fabric->fid)); // it has an open domain
	CALL(fi_close(&a.domain->fid)); // it has open objects
}

// DOMAIN opens a domain with one attribute changed.
#define DOMAIN(change) do { \
	struct fi_info *info = fi_dupinfo(a.info); \
	struct fid_domain *d; \
	change; \
	d = NULL; \
	NAMED(fi_domain(a.fabric, info, &d, NULL), "fi_domain, %s", #change); \
	if (d) \
		fi_close(&d->fid); \
	fi_freeinfo(info); \
} while (0)

static void domains(void)
{
	where = "domain";
	DOMAIN(info->domain_attr->threading = 99);
	DOMAIN(info->domain_attr->data_progress = FI_PROGRESS_AUTO);
	DOMAIN(info->domain_attr->data_progress = FI_PROGRESS_MANUAL);
	DOMAIN(info->domain_attr->data_progress = 99);
	DOMAIN(info->domain_attr->resource_mgmt = FI_RM_DISABLED);
	DOMAIN(info->domain_attr->resource_mgmt = 99);
	DOMAIN(info->domain_attr->av_type = 99);
	DOMAIN(info->domain_attr->mr_mode = 1 << 30);
	DOMAIN(info->domain_attr->mr_mode = FI_MR_BASIC);
	DOMAIN(info->domain_attr->cq_data_size = 16);
	DOMAIN(info->domain_attr->mr_key_size = 64);
	DOMAIN(info->domain_attr->caps = 1ull << 62);
	DOMAIN(info->domain_attr->mode = ~0ull);
	DOMAIN(free(info->domain_attr->name); info->domain_attr->name = strdup("nosuch"));
	DOMAIN(free(info->domain_attr->name); info->domain_attr->name = NULL);
	DOMAIN(info->caps = ~0ull);
	DOMAIN(info->addr_format = FI_ADDR_GNI);
}

static void events(void)
{
	struct fid_eq *eq;
	uint32_t event;
	char buf[256];
	struct fi_eq_err_entry err = {0};
	struct fi_eq_entry entry = {0};
	where = "eq";
	for (int w = -1; w < 9; w++) {
		struct fi_eq_attr attr = {.wait_obj = w};
		struct pollfd fds[8];
	struct fi_wait_pollfd wait_fds;
		eq = NULL;
		NAMED(fi_eq_open(a.fabric, &attr, &eq, NULL), "fi_eq_open, wait_obj %d", w);
		if (!eq)
			continue;
		NAMED(fi_eq_sread(eq, &event, buf, sizeof buf, 0, 0), "fi_eq_sread, wait_obj %d, timeout 0", w);
		NAMED(fi_eq_sread(eq, &event, buf, sizeof buf, 1, 0), "fi_eq_sread, wait_obj %d, timeout 1", w);
		NAMED(fi_control(&eq->fid, FI_GETWAIT, (wait_fds = (struct fi_wait_pollfd){0, 8, fds}, &wait_fds)),
			"FI_GETWAIT, wait_obj %d", w);
		NAMED(fi_control(&eq->fid, FI_GETWAITOBJ, &wait_fds), "FI_GETWAITOBJ, wait_obj %d", w);
		NAMED(fi_close(&eq->fid), "fi_close, wait_obj %d", w);
	}
	struct fi_eq_attr attr = {.size = 1ull << 40, .wait_obj = FI_WAIT_NONE};
	OPENED(eq, fi_eq_open(a.fabric, &attr, &eq, NULL));
	attr = (struct fi_eq_attr){.flags = 1ull << 60, .wait_obj = FI_WAIT_NONE};
	OPENED(eq, fi_eq_open(a.fabric, &attr, &eq, NULL));
	attr = (struct fi_eq_attr){.flags = FI_AFFINITY, .wait_obj = FI_WAIT_NONE};
	OPENED(eq, fi_eq_open(a.fabric, &attr, &eq, NULL));
	OPENED(eq, fi_eq_open(a.fabric, NULL, &eq, NULL));
	attr = (struct fi_eq_attr){.wait_obj = FI_WAIT_NONE};
	OK(fi_eq_open(a.fabric, &attr, &eq, NULL));
	CALL(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0)); // the queue was opened without FI_WRITE
	CALL(fi_eq_read(eq, &event, buf, sizeof buf, 0));
	CALL(fi_eq_read(a.eq, &event, buf, sizeof buf, 0));
	CALL(fi_eq_read(a.eq, &event, NULL, 0, 0));
	CALL(fi_eq_readerr(a.eq, &err, 0));
	CALL(fi_eq_write(a.eq, FI_NOTIFY, &entry, sizeof entry, 0));
	CALL(fi_eq_read(a.eq, &event, buf, 4, 0)); // the buffer is too small
	CALL(fi_eq_read(a.eq, &event, buf, 4, FI_PEEK));
	CALL(fi_eq_read(a.eq, &event, buf, sizeof buf, FI_PEEK));
	CALL(fi_eq_read(a.eq, &event, buf, sizeof buf, 1ull << 60));
	CALL(fi_eq_read(a.eq, &event, buf, sizeof buf, 0));
	CALL(fi_eq_write(a.eq, 12345, &entry, sizeof entry, 0));
	CALL(fi_eq_sread(a.eq, &event, buf, sizeof buf, 0, FI_PEEK));
	CALL(fi_eq_sread(a.eq, &event, buf, sizeof buf, 0, 0));
	CALL(fi_eq_write(a.eq, FI_NOTIFY, &entry, sizeof entry, 1ull << 60));
	CALL(fi_eq_write(a.eq, FI_NOTIFY, NULL, 0, 0));
	CALL(fi_eq_write(a.eq, FI_NOTIFY, buf, 100, 0));
	CALL(fi_eq_strerror(a.eq, 5, NULL, buf, sizeof buf) == NULL);
	CALL(fi_eq_strerror(a.eq, 5, NULL, NULL, 0) == NULL);
	CALL(fi_eq_strerror(a.eq, -5, NULL, buf, 1) == NULL);
}

static void waits(void)
{
	struct fid_wait *w;
	struct fid_poll *p;
	struct fi_poll_attr pattr = {0};
	void *context[4];
	fid_t fids[4] = {&a.eq->fid, &a.cq->fid, &a.fabric->fid, NULL};
	where = "wait";
	for (int o = -1; o < 9; o++) {
		struct fi_wait_attr attr = {.wait_obj = o};
		w = NULL;
		NAMED(fi_wait_open(a.fabric, &attr, &w), "fi_wait_open, wait_obj %d", o);
		if (!w)
			continue;
		NAMED(fi_wait(w, 0), "fi_wait, wait_obj %d", o);
		NAMED(fi_wait(w, 1), "fi_wait, wait_obj %d, timeout 1", o);
		NAMED(fi_close(&w->fid), "fi_close, wait_obj %d", o);
	}
	struct fi_wait_attr attr = {.wait_obj = FI_WAIT_UNSPEC, .flags = 1};
	OPENED(w, fi_wait_open(a.fabric, &attr, &w));
	where = "poll";
	OPENED(p, fi_poll_open(a.domain, NULL, &p));
	pattr.flags = 1;
	OPENED(p, fi_poll_open(a.domain, &pattr, &p));
	pattr.flags = 0;
	OK(fi_poll_open(a.domain, &pattr, &p));
	CALL(fi_poll(p, context, 4));
	CALL(fi_poll(p, context, 0));
	CALL(fi_poll_add(p, &a.cq->fid, 0));
	CALL(fi_poll_add(p, &a.cq->fid, 0));
	CALL(fi_poll_add(p, &a.cq->fid, 1));
	CALL(fi_poll_add(p, &a.eq->fid, 0));
	CALL(fi_poll_add(p, &a.domain->fid, 0));
	CALL(fi_poll(p, context, 4));
	CALL(fi_poll_del(p, &a.cq->fid, 1));
	struct fid_poll *full = NULL;
	OK(fi_poll_open(a.domain, &pattr, &full));
	OK(fi_poll_add(full, &a.cq->fid, 0));
	int rc = fi_close(&full->fid);
	NAMED(rc, "fi_close of a poll set with a member");
	if (rc) {
		OK(fi_poll_del(full, &a.cq->fid, 0));
		OK(fi_close(&full->fid));
	}
	CALL(fi_poll_del(p, &a.cq->fid, 0));
	CALL(fi_poll_del(p, &a.cq->fid, 0));
	CALL(fi_close(&p->fid));
	where = "trywait";
	CALL(fi_trywait(a.fabric, fids, 0));
	CALL(fi_trywait(a.fabric, fids, 1));
	CALL(fi_trywait(a.fabric, fids + 1, 1));
	CALL(fi_trywait(a.fabric, fids + 2, 1));
	CALL(fi_trywait(a.fabric, NULL, 0));
}

void fabric_calls(void)
{
	options.wait_obj = FI_WAIT_FD;
	pair_open();
	drain();
	fabrics();
	domains();
	events();
	waits();
}
