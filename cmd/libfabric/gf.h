// Declarations that the C files share: objects, and the calls into Go.
#ifndef GF_H
#define GF_H

#include "abi.h"

#define FI_EAGAIN 11
#define FI_EINVAL 22
#define FI_ENOSYS 38
#define FI_EOPBADSTATE 258

// Every object in C memory has its number for Go before it. C never has a pointer to Go memory, only this number.
struct gf_head {
	uint64_t id;
	uint64_t magic; // GF_MAGIC while the object is open
};
#define GF_MAGIC 0x676f666162726963ull

// gf_enter precedes every call into Go (sigstack.c). GF_ID contains it for calls on objects.
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

// A completion as Go passes it. A reader of the queue gets the fields of the queue's format.
struct gf_comp {
	uint64_t context, flags, len, buf, data, tag, src;
};

// A completion queue reads ahead: one call into Go takes all available completions, up to GF_RING.
#define GF_RING 64
struct gf_cq {
	struct fid_cq cq;
	int format;
	int lock;
	uint32_t head, tail; // ring[head] to ring[tail-1] are unread
	struct gf_comp ring[GF_RING];
};

// A call may leave a receive in the inlet of its domain without a call into Go. The next pass posts it first
// (inlet.c, inlet.go). C writes tail and the ring's next entry. Go writes head and shut.
#define GF_INLET 64
struct gf_post {
	uint64_t ep, src, tag, ignore, context;
	void *buf;
	size_t len;
	int tagged;
};
struct gf_inlet {
	int lock;      // among the threads that post
	uint32_t shut; // no pass is near, or a thread sleeps: Go posts receives directly
	uint32_t tail; // number of receives left here
	uint32_t head; // number of receives that Go has taken
	struct gf_post ring[GF_INLET];
};

// gf_inlet_new returns an empty inlet, NULL without memory. gf_leave leaves a receive in the inlet of its endpoint.
// It returns 0 if Go must post the receive.
struct gf_inlet *gf_inlet_new(void);
int gf_leave(struct fid_ep *ep, void *buf, size_t len, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context, int tagged);

// A counter, and the value of its last read, for gf_vain. Several threads may write the value: it is only a hint.
struct gf_cntr {
	struct fid_cntr cntr;
	uint64_t seen;
};

// An endpoint. An alias whose default flags have FI_TRIGGER takes each context for a struct fi_triggered_context,
// in calls without flags, too (fi_trigger(3)). Then the flags of its direction are here, and its calls become those
// with flags.
struct gf_ep {
	struct fid_ep ep;
	uint64_t tx_trigger, rx_trigger;
	struct gf_inlet *inlet; // takes its receives; NULL: none does
	uint32_t posted, limit; // receives that were left there, and the number that may be left: the difference is the room
	uint32_t tagged;        // tagged receives may be left, too
};
#define GF_TX_TRIGGER(e) (((const struct gf_ep *)(e))->tx_trigger)
#define GF_RX_TRIGGER(e) (((const struct gf_ep *)(e))->rx_trigger)

// The operations of goMsgV, goTaggedV and goRMAV. Calls with an array use the endpoint's flags, calls with a
// structure the caller's.
enum { GF_RECVV, GF_RECVMSG, GF_SENDV, GF_SENDMSG };

// A collective operation: enum fi_collective_op, and the arguments of its call.
enum { GF_BARRIER, GF_BROADCAST, GF_ALLTOALL, GF_ALLREDUCE, GF_ALLGATHER, GF_REDUCE_SCATTER, GF_REDUCE, GF_SCATTER, GF_GATHER };
struct gf_coll {
	int what, datatype, op;
	void *buf, *result;
	size_t count;
	uint64_t desc, result_desc, flags, context;
	fi_addr_t coll, root;
};

// gf_new returns zeroed memory of an object of a class, with its number for Go, id, and its tables of calls, and
// writes it to the application's pointer. NULL: no memory. gf_nic_new makes the target of fi_info.nic; gf_nic_free
// frees it and all that it points to.
void *gf_nic_new(void);
void gf_nic_free(void *nic);

void *gf_new(size_t fclass, uint64_t id, void *context);
void gf_free(void *fid);

// gf_vain is called without locks after each poll that found nothing: it may yield the processor. gf_found is
// called after a poll that found something.
void gf_vain(void);
void gf_found(void);

// gf_forked is set in a child of fork(2), where Go has no threads: every call on an object fails there. See fork.c.
extern int gf_forked;

#endif
