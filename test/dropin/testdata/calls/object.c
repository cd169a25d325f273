// The calls that every object has, on every object, and with every other object as argument.
#include "calls.h"

static struct { const char *name; fid_t fid; } objects[32];
static int count;

static void add(const char *name, fid_t fid)
{
	if (fid) {
		objects[count].name = name;
		objects[count++].fid = fid;
	}
}

static void open_all(void)
{
	struct fid_cntr *cntr = NULL;
	struct fid_mr *mr = NULL;
	struct fid_ep *srx = NULL, *ep = NULL;
	struct fid_stx *stx = NULL;
	struct fid_wait *wait = NULL;
	struct fid_poll *poll = NULL;
	struct fid_av_set *set = NULL;
	struct fid_pep *pep = NULL;
	struct fi_cntr_attr cattr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_wait_attr wattr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_poll_attr pattr = {0};
	static char memory[64];
	fi_cntr_open(a.domain, &cattr, &cntr, NULL);
	fi_mr_reg(a.domain, memory, 64, FI_REMOTE_READ, 0, 77, 0, &mr, NULL);
	fi_endpoint(a.domain, a.info, &ep, NULL);
	fi_wait_open(a.fabric, &wattr, &wait);
	fi_poll_open(a.domain, &pattr, &poll);
	if (options.type == FI_EP_MSG)
		fi_passive_ep(a.fabric, a.info, &pep, NULL);
	add("fabric", &a.fabric->fid);
	add("domain", &a.domain->fid);
	add("eq", &a.eq->fid);
	add("cq", &a.cq->fid);
	add("cntr", (fid_t)cntr);
	add("av", (fid_t)a.av);
	add("mr", (fid_t)mr);
	add("new ep", (fid_t)ep);
	add("ep", &a.ep->fid);
	add("pep", (fid_t)pep);
	add("srx", (fid_t)srx);
	add("stx", (fid_t)stx);
	add("wait", (fid_t)wait);
	add("poll", (fid_t)poll);
	add("set", (fid_t)set);
}

static void bind_all(void)
{
	const uint64_t flags[] = {0, FI_SEND, FI_RECV, FI_TRANSMIT | FI_RECV, FI_REMOTE_WRITE, 1ull << 61};
	where = "bind";
	for (int i = 0; i < count; i++) {
		NAMED(objects[i].fid->fclass, "class of %s", objects[i].name);
		for (int k = 0; k < count; k++)
			for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
				if (i != k)
					NAMED(objects[i].fid->ops->bind(objects[i].fid, objects[k].fid, flags[f]),
						"%s to %s, flags %#llx", objects[k].name,
					      objects[i].name, (unsigned long long)flags[f]);
	}
}

static void control_all(void)
{
	where = "control";
	for (int i = 0; i < count; i++)
		for (int command = -1; command < 24; command++) {
			static char arg[256];
			memset(arg, 0, sizeof arg);
			if (command == FI_ALIAS || command == FI_GET_VAL || command == FI_SET_VAL ||
				(command >= FI_GET_RAW_MR && command <= FI_REFRESH))
				continue; // their arguments are structures with pointers
			NAMED(objects[i].fid->ops->control(objects[i].fid, command, arg),
				"%s, command %d", objects[i].name, command);
		}
	for (int i = 0; i < count; i++) {
		uint64_t v = 0;
		for (int name = -1; name < 3; name++) {
			NAMED(fi_get_val(objects[i].fid, name, &v), "fi_get_val %d of %s", name, objects[i].name);
			NAMED(fi_set_val(objects[i].fid, name, &v), "fi_set_val %d of %s", name, objects[i].name);
		}
	}
}

static void tables(void)
{
	where = "tables";
	for (int i = 0; i < count; i++) {
		void *ops = NULL;
		struct fid *out = NULL;
		fid_t f = objects[i].fid;
		NAMED(fi_open_ops(f, "nosuch", 0, &ops, NULL), "fi_open_ops of %s", objects[i].name);
		NAMED(fi_open_ops(f, "fi_profile_ops", 0, &ops, NULL), "profile of %s", objects[i].name);
		NAMED(fi_set_ops(f, "nosuch", 0, &ops, NULL), "fi_set_ops of %s", objects[i].name);
		NAMED(fi_set_ops(f, FI_SET_OPS_HMEM_OVERRIDE, 0, NULL, NULL), "hmem override of %s", objects[i].name);
		NAMED(fi_export_fid(f, 0, &out, NULL), "fi_export_fid of %s", objects[i].name);
		NAMED(fi_import_fid(f, f, 0), "fi_import_fid of %s", objects[i].name);
		NAMED(fi_alias(f, &out, 0), "fi_alias of %s", objects[i].name);
	}
}

static void close_all(void)
{
	where = "close";
	for (int i = 0; i < count; i++)
		NAMED(fi_close(objects[i].fid), "%s", objects[i].name);
}

void object_calls(void)
{
	pair_open();
	drain();
	open_all();
	control_all();
	tables();
	bind_all();
	close_all();
}
