// What the C side of this library shares: objects, and the way into Go.
#ifndef GF_H
#define GF_H

#include "abi.h"

#define FI_EAGAIN 11
#define FI_EINVAL 22
#define FI_ENOSYS 38
#define FI_EOPBADSTATE 258

// Before every object in C memory stands what Go knows it by. Go never keeps or follows a pointer to Go memory here, only this number.
struct gf_head {
	uint64_t id;
	uint64_t magic; // GF_MAGIC while the object is open
};
#define GF_MAGIC 0x676f666162726963ull

// gf_enter stands before every call into Go (sigstack.c), in GF_ID for those that are given an object.
extern __thread char gf_roomy __attribute__((tls_model("initial-exec")));
void gf_make_room(void);
static inline void gf_enter(void)
{
	if (__builtin_expect(!gf_roomy, 0))
		gf_make_room();
}
static inline uint64_t gf_id(const void *object)
{
	gf_enter();
	return ((const struct gf_head *)object)[-1].id;
}
#define GF_ID(p) gf_id(p)

// A completion as Go hands it over; the reader of the queue gets what the queue's format says.
struct gf_comp {
	uint64_t context, flags, len, buf, data, tag, src;
};

// A completion queue reads ahead: one call into Go takes as many completions as there are, up to GF_RING.
#define GF_RING 64
struct gf_cq {
	struct fid_cq cq;
	int format;
	int lock;
	uint32_t head, tail; // ring[head] to ring[tail-1] are not read yet
	struct gf_comp ring[GF_RING];
};

// Receives that a call leaves in the inlet of its domain, without entering Go, are posted at the beginning of the next pass (inlet.c, inlet.go). C writes
// tail and the ring's next entry, Go head and shut.
#define GF_INLET 64
struct gf_post {
	uint64_t ep, src, tag, ignore, context;
	void *buf;
	size_t len;
	int tagged;
};
struct gf_inlet {
	int lock;          // of those who post
	uint32_t shut;     // no pass is near, or somebody sleeps: receives are posted by Go
	uint32_t tail;     // receives left here
	uint32_t head;     // receives that Go has taken
	struct gf_post ring[GF_INLET];
};

// gf_inlet_new returns an empty inlet, NULL without memory. gf_leave leaves a receive in the inlet of its endpoint; 0 if it must be posted by Go.
struct gf_inlet *gf_inlet_new(void);
int gf_leave(struct fid_ep *ep, void *buf, size_t len, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context, int tagged);

// A counter, and what the last read of it saw, for gf_vain. Several threads may write it: it is no more than a hint.
struct gf_cntr {
	struct fid_cntr cntr;
	uint64_t seen;
};

// An endpoint. An alias whose default flags have FI_TRIGGER takes each context for a struct fi_triggered_context, in calls without flags, too: then
// the flags of its direction are here, and its calls become those that take flags (fi_trigger(3)).
struct gf_ep {
	struct fid_ep ep;
	uint64_t tx_trigger, rx_trigger;
	struct gf_inlet *inlet;   // where its receives may wait; NULL: nowhere
	uint32_t posted, limit;   // receives that waited there, and how many there may have been by now: there is room for these
	uint32_t tagged;          // tagged ones may wait, too
};
#define GF_TX_TRIGGER(e) (((const struct gf_ep *)(e))->tx_trigger)
#define GF_RX_TRIGGER(e) (((const struct gf_ep *)(e))->rx_trigger)

// What goMsgV, goTaggedV and goRMAV are asked to do: calls with an array use the endpoint's flags, calls with a structure the caller's.
enum { GF_RECVV, GF_RECVMSG, GF_SENDV, GF_SENDMSG };

// A collective operation: enum fi_collective_op, and what its call was given.
enum { GF_BARRIER, GF_BROADCAST, GF_ALLTOALL, GF_ALLREDUCE, GF_ALLGATHER, GF_REDUCE_SCATTER, GF_REDUCE, GF_SCATTER, GF_GATHER };
struct gf_coll {
	int what, datatype, op;
	void *buf, *result;
	size_t count;
	uint64_t desc, result_desc, flags, context;
	fi_addr_t coll, root;
};

// gf_new returns zeroed memory of an object of a class that Go knows as id, with its tables of calls, and writes it to the application's pointer. NULL: no memory.
// gf_nic_new and gf_nic_free make and free what fi_info.nic points to; gf_nic_free frees what it points to, too.
void *gf_nic_new(void);
void gf_nic_free(void *nic);

void *gf_new(size_t fclass, uint64_t id, void *context);
void gf_free(void *fid);

// gf_vain is called after each poll that found nothing, without locks: it may give the processor away. gf_found is called after one that found something.
void gf_vain(void);
void gf_found(void);

// gf_forked is set in a child of fork(2), where Go has no threads: every call on an object fails there. See fork.c.
extern int gf_forked;

#endif
