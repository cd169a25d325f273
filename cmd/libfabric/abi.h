// The binary interface of libfabric 2.6 on 64-bit systems: the structures that C programs and this library
// exchange. Names and layouts are libfabric's (rdma/*.h, fabric(7) and the man pages named below). Programs compiled
// with older headers know a beginning of some structures, see info.go.
#ifndef GF_ABI_H
#define GF_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef uint64_t fi_addr_t;

struct fid_fabric;
struct fid_domain;
struct fid_av;
struct fid_av_set;
struct fid_wait;
struct fid_poll;
struct fid_eq;
struct fid_cq;
struct fid_cntr;
struct fid_ep;
struct fid_pep;
struct fid_stx;
struct fid_mr;
struct fid_mc;
struct fi_info;
struct fi_eq_attr;
struct fi_cq_attr;
struct fi_cntr_attr;
struct fi_wait_attr;
struct fi_poll_attr;
struct fi_ops_msg;
struct fi_ops_rma;
struct fi_ops_tagged;
struct fi_ops_atomic;
struct fi_ops_collective;

// fabric(7): the beginning of every object.
struct fid;
typedef struct fid *fid_t;

struct fi_ops {
	size_t size;
	int (*close)(fid_t);
	int (*bind)(fid_t, fid_t, uint64_t flags);
	int (*control)(fid_t, int command, void *arg);
	int (*ops_open)(fid_t, const char *name, uint64_t flags, void **ops, void *context);
	int (*tostr)(const struct fid *, char *buf, size_t len);
	int (*ops_set)(fid_t, const char *name, uint64_t flags, void *ops, void *context);
};

struct fid {
	size_t fclass;
	void *context;
	struct fi_ops *ops;
};

enum {
	FI_CLASS_UNSPEC, FI_CLASS_FABRIC, FI_CLASS_DOMAIN, FI_CLASS_EP, FI_CLASS_SEP, FI_CLASS_RX_CTX, FI_CLASS_SRX_CTX, FI_CLASS_TX_CTX, FI_CLASS_STX_CTX,
	FI_CLASS_PEP, FI_CLASS_INTERFACE, FI_CLASS_AV, FI_CLASS_MR, FI_CLASS_EQ, FI_CLASS_CQ, FI_CLASS_CNTR, FI_CLASS_WAIT, FI_CLASS_POLL, FI_CLASS_CONNREQ,
	FI_CLASS_MC, FI_CLASS_NIC, FI_CLASS_AV_SET,
};

// fi_control(3)
enum {
	FI_GETFIDFLAG, FI_SETFIDFLAG, FI_GETOPSFLAG, FI_SETOPSFLAG, FI_ALIAS, FI_GETWAIT, FI_ENABLE, FI_BACKLOG, FI_GET_RAW_MR, FI_MAP_RAW_MR, FI_UNMAP_KEY,
	FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK, FI_REFRESH, FI_DUP, FI_GETWAITOBJ, FI_GET_VAL, FI_SET_VAL, FI_EXPORT_FID, FI_GET_FD,
};

struct fi_alias { struct fid **fid; uint64_t flags; };
struct fi_fid_var { int name; void *val; };
struct fi_mr_raw_attr { uint64_t flags; uint64_t *base_addr; uint8_t *raw_key; size_t *key_size; };
struct fi_mr_map_raw { uint64_t flags; uint64_t base_addr; uint8_t *raw_key; size_t key_size; uint64_t *key; };

// fi_getinfo(3), fi_endpoint(3), fi_domain(3), fi_fabric(3), fi_nic(3)
struct fi_tx_attr {
	uint64_t caps, mode, op_flags, msg_order, comp_order;
	size_t inject_size, size, iov_limit, rma_iov_limit;
	uint32_t tclass; // since ABI 1.3
};

struct fi_rx_attr {
	uint64_t caps, mode, op_flags, msg_order, comp_order;
	size_t total_buffered_recv, size, iov_limit;
};

struct fi_ep_attr {
	int type;
	uint32_t protocol, protocol_version;
	size_t max_msg_size, msg_prefix_size, max_order_raw_size, max_order_war_size, max_order_waw_size;
	uint64_t mem_tag_format;
	size_t tx_ctx_cnt, rx_ctx_cnt;
	size_t auth_key_size; // since 1.1
	uint8_t *auth_key;
	void *xpu_ctx; // since 1.10
};

struct fi_domain_attr {
	struct fid_domain *domain;
	char *name;
	int threading, control_progress, data_progress, resource_mgmt, av_type, mr_mode;
	size_t mr_key_size, cq_data_size, cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx, max_ep_rx_ctx, max_ep_stx_ctx, max_ep_srx_ctx;
	size_t cntr_cnt, mr_iov_limit; // since 1.1
	uint64_t caps, mode;
	uint8_t *auth_key;
	size_t auth_key_size, max_err_data, mr_cnt;
	uint32_t tclass;                             // since 1.3
	size_t max_ep_auth_key;                      // since 1.7
	uint32_t max_group_id;                       // since 1.8
	uint64_t max_cntr_value, max_err_cntr_value; // since 1.9
	size_t max_xpu_ctx_cnt;                      // since 1.10
};

struct fi_fabric_attr {
	struct fid_fabric *fabric;
	char *name, *prov_name;
	uint32_t prov_version;
	uint32_t api_version; // since 1.1
};

struct fid_nic;

struct fi_info {
	struct fi_info *next;
	uint64_t caps, mode;
	uint32_t addr_format;
	size_t src_addrlen, dest_addrlen;
	void *src_addr, *dest_addr;
	fid_t handle;
	struct fi_tx_attr *tx_attr;
	struct fi_rx_attr *rx_attr;
	struct fi_ep_attr *ep_attr;
	struct fi_domain_attr *domain_attr;
	struct fi_fabric_attr *fabric_attr;
	struct fid_nic *nic; // since 1.2
};

struct fi_device_attr { char *name, *device_id, *device_version, *vendor_id, *driver, *firmware; };
struct fi_pci_attr { uint16_t domain_id; uint8_t bus_id, device_id, function_id; };
struct fi_bus_attr { int bus_type; struct fi_pci_attr pci; };
struct fi_link_attr { char *address; size_t mtu, speed; int state; char *network_type; };

struct fid_nic {
	struct fid fid;
	struct fi_device_attr *device_attr;
	struct fi_bus_attr *bus_attr;
	struct fi_link_attr *link_attr;
	void *prov_attr;
};

// fi_fabric(3)
struct fi_ops_fabric {
	size_t size;
	int (*domain)(struct fid_fabric *, struct fi_info *, struct fid_domain **, void *context);
	int (*passive_ep)(struct fid_fabric *, struct fi_info *, struct fid_pep **, void *context);
	int (*eq_open)(struct fid_fabric *, struct fi_eq_attr *, struct fid_eq **, void *context);
	int (*wait_open)(struct fid_fabric *, struct fi_wait_attr *, struct fid_wait **);
	int (*trywait)(struct fid_fabric *, struct fid **, int count);
	int (*domain2)(struct fid_fabric *, struct fi_info *, struct fid_domain **, uint64_t flags, void *context);
};
struct fid_fabric { struct fid fid; struct fi_ops_fabric *ops; uint32_t api_version; };

// fi_av(3), fi_av_set(3)
struct fi_av_attr {
	int type, rx_ctx_bits;
	size_t count, ep_per_node;
	const char *name;
	void *map_addr;
	uint64_t flags;
};
struct fi_av_set_attr {
	size_t count;
	fi_addr_t start_addr, end_addr;
	uint64_t stride;
	size_t comm_key_size;
	uint8_t *comm_key;
	uint64_t flags;
};
struct fi_ops_av {
	size_t size;
	int (*insert)(struct fid_av *, const void *addr, size_t count, fi_addr_t *, uint64_t flags, void *context);
	int (*insertsvc)(struct fid_av *, const char *node, const char *service, fi_addr_t *, uint64_t flags, void *context);
	int (*insertsym)(struct fid_av *, const char *node, size_t nodecnt, const char *service, size_t svccnt, fi_addr_t *, uint64_t flags, void *context);
	int (*remove)(struct fid_av *, fi_addr_t *, size_t count, uint64_t flags);
	int (*lookup)(struct fid_av *, fi_addr_t, void *addr, size_t *addrlen);
	const char *(*straddr)(struct fid_av *, const void *addr, char *buf, size_t *len);
	int (*av_set)(struct fid_av *, struct fi_av_set_attr *, struct fid_av_set **, void *context);
	int (*insert_auth_key)(struct fid_av *, const void *key, size_t size, fi_addr_t *, uint64_t flags);
	int (*lookup_auth_key)(struct fid_av *, fi_addr_t, void *key, size_t *size);
	int (*set_user_id)(struct fid_av *, fi_addr_t, fi_addr_t user_id, uint64_t flags);
	int (*lookup2)(struct fid_av *, fi_addr_t, void *buf, size_t *len, uint64_t flags, void *xpu);
};
struct fid_av { struct fid fid; struct fi_ops_av *ops; };

struct fi_ops_av_set {
	size_t size;
	int (*set_union)(struct fid_av_set *, const struct fid_av_set *);
	int (*intersect)(struct fid_av_set *, const struct fid_av_set *);
	int (*diff)(struct fid_av_set *, const struct fid_av_set *);
	int (*insert)(struct fid_av_set *, fi_addr_t);
	int (*remove)(struct fid_av_set *, fi_addr_t);
	int (*addr)(struct fid_av_set *, fi_addr_t *);
};
struct fid_av_set { struct fid fid; struct fi_ops_av_set *ops; };

// fi_mr(3)
struct fid_mr { struct fid fid; void *mem_desc; uint64_t key; };
struct fi_mr_auth_key { struct fid_av *av; fi_addr_t src_addr; };
struct fi_mr_attr {
	const struct iovec *mr_iov;
	size_t iov_count;
	uint64_t access, offset, requested_key;
	void *context;
	size_t auth_key_size; // since API 1.5
	uint8_t *auth_key;
	int iface; // since API 1.10
	uint64_t device;
	void *hmem_data;  // since API 1.18
	size_t page_size; // since API 2.0
	const struct fid_mr *base_mr;
	size_t sub_mr_cnt;
};
struct fi_mr_modify { uint64_t flags; struct fi_mr_attr attr; };
struct fi_ops_mr {
	size_t size;
	int (*reg)(fid_t, const void *, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **, void *context);
	int (*regv)(fid_t, const struct iovec *, size_t, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **, void *context);
	int (*regattr)(fid_t, const struct fi_mr_attr *, uint64_t flags, struct fid_mr **);
};

// fi_domain(3)
struct fi_atomic_attr { size_t count, size; };
struct fi_collective_attr { int op, datatype; struct fi_atomic_attr datatype_attr; size_t max_members; uint64_t mode; };
struct fi_ops_domain {
	size_t size;
	int (*av_open)(struct fid_domain *, struct fi_av_attr *, struct fid_av **, void *context);
	int (*cq_open)(struct fid_domain *, struct fi_cq_attr *, struct fid_cq **, void *context);
	int (*endpoint)(struct fid_domain *, struct fi_info *, struct fid_ep **, void *context);
	int (*scalable_ep)(struct fid_domain *, struct fi_info *, struct fid_ep **, void *context);
	int (*cntr_open)(struct fid_domain *, struct fi_cntr_attr *, struct fid_cntr **, void *context);
	int (*poll_open)(struct fid_domain *, struct fi_poll_attr *, struct fid_poll **);
	int (*stx_ctx)(struct fid_domain *, struct fi_tx_attr *, struct fid_stx **, void *context);
	int (*srx_ctx)(struct fid_domain *, struct fi_rx_attr *, struct fid_ep **, void *context);
	int (*query_atomic)(struct fid_domain *, int datatype, int op, struct fi_atomic_attr *, uint64_t flags);
	int (*query_collective)(struct fid_domain *, int coll, struct fi_collective_attr *, uint64_t flags);
	int (*endpoint2)(struct fid_domain *, struct fi_info *, struct fid_ep **, uint64_t flags, void *context);
	int (*xpu_ctx)(struct fid_domain *, void *attr, void **, void *context);
};
struct fid_domain { struct fid fid; struct fi_ops_domain *ops; struct fi_ops_mr *mr; };

// fi_eq(3), fi_cq(3), fi_cntr(3), fi_poll(3)
struct fi_wait_attr { int wait_obj; uint64_t flags; };
struct fi_ops_wait { size_t size; int (*wait)(struct fid_wait *, int timeout); };
struct fid_wait { struct fid fid; struct fi_ops_wait *ops; };

struct fi_poll_attr { uint64_t flags; };
struct fi_ops_poll {
	size_t size;
	int (*poll)(struct fid_poll *, void **context, int count);
	int (*poll_add)(struct fid_poll *, fid_t, uint64_t flags);
	int (*poll_del)(struct fid_poll *, fid_t, uint64_t flags);
};
struct fid_poll { struct fid fid; struct fi_ops_poll *ops; };

struct fi_eq_attr { size_t size; uint64_t flags; int wait_obj, signaling_vector; struct fid_wait *wait_set; };
struct fi_eq_entry { fid_t fid; void *context; uint64_t data; };
struct fi_eq_err_entry { fid_t fid; void *context; uint64_t data; int err, prov_errno; void *err_data; size_t err_data_size; };
struct fi_eq_cm_entry { fid_t fid; struct fi_info *info; uint8_t data[]; };
struct fi_ops_eq {
	size_t size;
	ssize_t (*read)(struct fid_eq *, uint32_t *event, void *buf, size_t len, uint64_t flags);
	ssize_t (*readerr)(struct fid_eq *, struct fi_eq_err_entry *, uint64_t flags);
	ssize_t (*write)(struct fid_eq *, uint32_t event, const void *buf, size_t len, uint64_t flags);
	ssize_t (*sread)(struct fid_eq *, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags);
	const char *(*strerror)(struct fid_eq *, int prov_errno, const void *err_data, char *buf, size_t len);
};
struct fid_eq { struct fid fid; struct fi_ops_eq *ops; };

struct fi_cq_tagged_entry { void *op_context; uint64_t flags; size_t len; void *buf; uint64_t data, tag; };
struct fi_cq_err_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data, tag;
	size_t olen;
	int err, prov_errno;
	void *err_data;
	size_t err_data_size; // since API 1.5
	fi_addr_t src_addr;   // since API 1.20
};
struct fi_cq_attr { size_t size; uint64_t flags; int format, wait_obj, signaling_vector, wait_cond; struct fid_wait *wait_set; };
struct fi_ops_cq {
	size_t size;
	ssize_t (*read)(struct fid_cq *, void *buf, size_t count);
	ssize_t (*readfrom)(struct fid_cq *, void *buf, size_t count, fi_addr_t *);
	ssize_t (*readerr)(struct fid_cq *, struct fi_cq_err_entry *, uint64_t flags);
	ssize_t (*sread)(struct fid_cq *, void *buf, size_t count, const void *cond, int timeout);
	ssize_t (*sreadfrom)(struct fid_cq *, void *buf, size_t count, fi_addr_t *, const void *cond, int timeout);
	int (*signal)(struct fid_cq *);
	const char *(*strerror)(struct fid_cq *, int prov_errno, const void *err_data, char *buf, size_t len);
	int (*export_xpu)(struct fid_cq *, uint64_t flags, void *xpu);
};
struct fid_cq { struct fid fid; struct fi_ops_cq *ops; };

struct fi_cntr_attr { int events, wait_obj; struct fid_wait *wait_set; uint64_t flags; };
struct fi_ops_cntr {
	size_t size;
	uint64_t (*read)(struct fid_cntr *);
	uint64_t (*readerr)(struct fid_cntr *);
	int (*add)(struct fid_cntr *, uint64_t);
	int (*set)(struct fid_cntr *, uint64_t);
	int (*wait)(struct fid_cntr *, uint64_t threshold, int timeout);
	int (*adderr)(struct fid_cntr *, uint64_t);
	int (*seterr)(struct fid_cntr *, uint64_t);
	int (*export_xpu)(struct fid_cntr *, uint64_t flags, void *xpu);
};
struct fid_cntr { struct fid fid; struct fi_ops_cntr *ops; };

// fi_endpoint(3), fi_cm(3)
struct fi_ops_ep {
	size_t size;
	ssize_t (*cancel)(fid_t, void *context);
	int (*getopt)(fid_t, int level, int name, void *val, size_t *len);
	int (*setopt)(fid_t, int level, int name, const void *val, size_t len);
	int (*tx_ctx)(struct fid_ep *, int index, struct fi_tx_attr *, struct fid_ep **, void *context);
	int (*rx_ctx)(struct fid_ep *, int index, struct fi_rx_attr *, struct fid_ep **, void *context);
	ssize_t (*rx_size_left)(struct fid_ep *);
	ssize_t (*tx_size_left)(struct fid_ep *);
	int (*export_xpu)(struct fid_ep *, uint64_t flags, void *xpu);
};
struct fid_mc { struct fid fid; fi_addr_t fi_addr; };
struct fi_collective_addr { const struct fid_av_set *set; fi_addr_t coll_addr; };
struct fi_ops_cm {
	size_t size;
	int (*setname)(fid_t, void *addr, size_t len);
	int (*getname)(fid_t, void *addr, size_t *len);
	int (*getpeer)(struct fid_ep *, void *addr, size_t *len);
	int (*connect)(struct fid_ep *, const void *addr, const void *param, size_t len);
	int (*listen)(struct fid_pep *);
	int (*accept)(struct fid_ep *, const void *param, size_t len);
	int (*reject)(struct fid_pep *, fid_t handle, const void *param, size_t len);
	int (*shutdown)(struct fid_ep *, uint64_t flags);
	int (*join)(struct fid_ep *, const void *addr, uint64_t flags, struct fid_mc **, void *context);
};

struct fid_ep {
	struct fid fid;
	struct fi_ops_ep *ops;
	struct fi_ops_cm *cm;
	struct fi_ops_msg *msg;
	struct fi_ops_rma *rma;
	struct fi_ops_tagged *tagged;
	struct fi_ops_atomic *atomic;
	struct fi_ops_collective *collective;
};
struct fid_pep { struct fid fid; struct fi_ops_ep *ops; struct fi_ops_cm *cm; };
struct fid_stx { struct fid fid; struct fi_ops_ep *ops; };

// fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3)
struct fi_msg { const struct iovec *msg_iov; void **desc; size_t iov_count; fi_addr_t addr; void *context; uint64_t data; };
struct fi_ops_msg {
	size_t size;
	ssize_t (*recv)(struct fid_ep *, void *buf, size_t len, void *desc, fi_addr_t, void *context);
	ssize_t (*recvv)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, void *context);
	ssize_t (*recvmsg)(struct fid_ep *, const struct fi_msg *, uint64_t flags);
	ssize_t (*send)(struct fid_ep *, const void *buf, size_t len, void *desc, fi_addr_t, void *context);
	ssize_t (*sendv)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, void *context);
	ssize_t (*sendmsg)(struct fid_ep *, const struct fi_msg *, uint64_t flags);
	ssize_t (*inject)(struct fid_ep *, const void *buf, size_t len, fi_addr_t);
	ssize_t (*senddata)(struct fid_ep *, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t, void *context);
	ssize_t (*injectdata)(struct fid_ep *, const void *buf, size_t len, uint64_t data, fi_addr_t);
};

struct fi_msg_tagged {
	const struct iovec *msg_iov;
	void **desc;
	size_t iov_count;
	fi_addr_t addr;
	uint64_t tag, ignore;
	void *context;
	uint64_t data;
};
struct fi_ops_tagged {
	size_t size;
	ssize_t (*recv)(struct fid_ep *, void *buf, size_t len, void *desc, fi_addr_t, uint64_t tag, uint64_t ignore, void *context);
	ssize_t (*recvv)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, uint64_t tag, uint64_t ignore, void *context);
	ssize_t (*recvmsg)(struct fid_ep *, const struct fi_msg_tagged *, uint64_t flags);
	ssize_t (*send)(struct fid_ep *, const void *buf, size_t len, void *desc, fi_addr_t, uint64_t tag, void *context);
	ssize_t (*sendv)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, uint64_t tag, void *context);
	ssize_t (*sendmsg)(struct fid_ep *, const struct fi_msg_tagged *, uint64_t flags);
	ssize_t (*inject)(struct fid_ep *, const void *buf, size_t len, fi_addr_t, uint64_t tag);
	ssize_t (*senddata)(struct fid_ep *, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t, uint64_t tag, void *context);
	ssize_t (*injectdata)(struct fid_ep *, const void *buf, size_t len, uint64_t data, fi_addr_t, uint64_t tag);
};

struct fi_rma_iov { uint64_t addr; size_t len; uint64_t key; };
struct fi_msg_rma {
	const struct iovec *msg_iov;
	void **desc;
	size_t iov_count;
	fi_addr_t addr;
	const struct fi_rma_iov *rma_iov;
	size_t rma_iov_count;
	void *context;
	uint64_t data;
};
struct fi_ops_rma {
	size_t size;
	ssize_t (*read)(struct fid_ep *, void *buf, size_t len, void *desc, fi_addr_t, uint64_t addr, uint64_t key, void *context);
	ssize_t (*readv)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, uint64_t addr, uint64_t key, void *context);
	ssize_t (*readmsg)(struct fid_ep *, const struct fi_msg_rma *, uint64_t flags);
	ssize_t (*write)(struct fid_ep *, const void *buf, size_t len, void *desc, fi_addr_t, uint64_t addr, uint64_t key, void *context);
	ssize_t (*writev)(struct fid_ep *, const struct iovec *, void **desc, size_t count, fi_addr_t, uint64_t addr, uint64_t key, void *context);
	ssize_t (*writemsg)(struct fid_ep *, const struct fi_msg_rma *, uint64_t flags);
	ssize_t (*inject)(struct fid_ep *, const void *buf, size_t len, fi_addr_t, uint64_t addr, uint64_t key);
	ssize_t (*writedata)(struct fid_ep *, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t, uint64_t addr, uint64_t key, void *context);
	ssize_t (*injectdata)(struct fid_ep *, const void *buf, size_t len, uint64_t data, fi_addr_t, uint64_t addr, uint64_t key);
};

struct fi_ioc { void *addr; size_t count; };
struct fi_rma_ioc { uint64_t addr; size_t count; uint64_t key; };
struct fi_msg_atomic {
	const struct fi_ioc *msg_iov;
	void **desc;
	size_t iov_count;
	fi_addr_t addr;
	const struct fi_rma_ioc *rma_iov;
	size_t rma_iov_count;
	int datatype, op;
	void *context;
	uint64_t data;
};
struct fi_msg_fetch { struct fi_ioc *msg_iov; void **desc; size_t iov_count; };
struct fi_msg_compare { const struct fi_ioc *msg_iov; void **desc; size_t iov_count; };
struct fi_ops_atomic {
	size_t size;
	ssize_t (*write)(struct fid_ep *, const void *buf, size_t count, void *desc, fi_addr_t, uint64_t addr, uint64_t key, int datatype, int op, void *context);
	ssize_t (*writev)(struct fid_ep *, const struct fi_ioc *, void **desc, size_t count, fi_addr_t, uint64_t addr, uint64_t key, int datatype, int op,
			  void *context);
	ssize_t (*writemsg)(struct fid_ep *, const struct fi_msg_atomic *, uint64_t flags);
	ssize_t (*inject)(struct fid_ep *, const void *buf, size_t count, fi_addr_t, uint64_t addr, uint64_t key, int datatype, int op);
	ssize_t (*readwrite)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t, uint64_t addr, uint64_t key,
			     int datatype, int op, void *context);
	ssize_t (*readwritev)(struct fid_ep *, const struct fi_ioc *, void **desc, size_t count, struct fi_ioc *resultv, void **result_desc, size_t result_count,
			      fi_addr_t, uint64_t addr, uint64_t key, int datatype, int op, void *context);
	ssize_t (*readwritemsg)(struct fid_ep *, const struct fi_msg_atomic *, struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags);
	ssize_t (*compwrite)(struct fid_ep *, const void *buf, size_t count, void *desc, const void *compare, void *compare_desc, void *result, void *result_desc,
			     fi_addr_t, uint64_t addr, uint64_t key, int datatype, int op, void *context);
	ssize_t (*compwritev)(struct fid_ep *, const struct fi_ioc *, void **desc, size_t count, const struct fi_ioc *comparev, void **compare_desc,
			      size_t compare_count, struct fi_ioc *resultv, void **result_desc, size_t result_count, fi_addr_t, uint64_t addr, uint64_t key,
			      int datatype, int op, void *context);
	ssize_t (*compwritemsg)(struct fid_ep *, const struct fi_msg_atomic *, const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
				struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags);
	int (*writevalid)(struct fid_ep *, int datatype, int op, size_t *count);
	int (*readwritevalid)(struct fid_ep *, int datatype, int op, size_t *count);
	int (*compwritevalid)(struct fid_ep *, int datatype, int op, size_t *count);
};

// fi_collective(3)
struct fi_msg_collective {
	const struct fi_ioc *msg_iov;
	void **desc;
	size_t iov_count;
	fi_addr_t coll_addr, root_addr;
	int coll, datatype, op;
	void *context;
};
struct fi_ops_collective {
	size_t size;
	ssize_t (*barrier)(struct fid_ep *, fi_addr_t coll, void *context);
	ssize_t (*broadcast)(struct fid_ep *, void *buf, size_t count, void *desc, fi_addr_t coll, fi_addr_t root, int datatype, uint64_t flags, void *context);
	ssize_t (*alltoall)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
			    uint64_t flags, void *context);
	ssize_t (*allreduce)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype, int op,
			     uint64_t flags, void *context);
	ssize_t (*allgather)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype,
			     uint64_t flags, void *context);
	ssize_t (*reduce_scatter)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, int datatype, int op,
				  uint64_t flags, void *context);
	ssize_t (*reduce)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			  int datatype, int op, uint64_t flags, void *context);
	ssize_t (*scatter)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   int datatype, uint64_t flags, void *context);
	ssize_t (*gather)(struct fid_ep *, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			  int datatype, uint64_t flags, void *context);
	ssize_t (*msg)(struct fid_ep *, const struct fi_msg_collective *, struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags);
	ssize_t (*barrier2)(struct fid_ep *, fi_addr_t coll, uint64_t flags, void *context);
};

// fi_trigger(3)
struct fi_triggered_context { int event_type; struct { struct fid_cntr *cntr; size_t threshold; void *internal; } trigger; };
struct fi_op_msg { struct fid_ep *ep; struct fi_msg msg; uint64_t flags; };
struct fi_op_tagged { struct fid_ep *ep; struct fi_msg_tagged msg; uint64_t flags; };
struct fi_op_rma { struct fid_ep *ep; struct fi_msg_rma msg; uint64_t flags; };
struct fi_op_atomic { struct fid_ep *ep; struct fi_msg_atomic msg; uint64_t flags; };
struct fi_op_fetch_atomic { struct fid_ep *ep; struct fi_msg_atomic msg; struct fi_msg_fetch fetch; uint64_t flags; };
struct fi_op_compare_atomic { struct fid_ep *ep; struct fi_msg_atomic msg; struct fi_msg_fetch fetch; struct fi_msg_compare compare; uint64_t flags; };
struct fi_op_cntr { struct fid_cntr *cntr; uint64_t value; };
struct fi_deferred_work {
	void *context[8];
	uint64_t threshold;
	struct fid_cntr *triggering_cntr, *completion_cntr;
	int op_type;
	void *op; // of the structures above, the one that op_type says
};

// fi_getinfo(3), libfabric's parameters; fi_provider(3), the log
struct fi_param { const char *name; int type; const char *help_string, *value; };
struct fi_provider;

#endif
