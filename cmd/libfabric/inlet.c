//go:build linux

// Receives that wait for the next pass of Go (gf.h).
#include <sched.h>
#include <stdlib.h>
#include "_cgo_export.h"
#include "gf.h"
#include "ops.h"

struct gf_inlet *gf_inlet_new(void) { return calloc(1, sizeof(struct gf_inlet)); }

int gf_leave(struct fid_ep *fid, void *buf, size_t len, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context, int tagged)
{
	struct gf_ep *ep = (struct gf_ep *)fid;
	struct gf_inlet *in = __atomic_load_n(&ep->inlet, __ATOMIC_ACQUIRE);
	if (!in || (tagged && !ep->tagged) || __atomic_load_n(&in->shut, __ATOMIC_RELAXED))
		return 0;
	while (__atomic_exchange_n(&in->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	uint32_t tail = in->tail;
	if ((int32_t)(__atomic_load_n(&ep->limit, __ATOMIC_ACQUIRE) - ep->posted) <= 0 || tail - __atomic_load_n(&in->head, __ATOMIC_ACQUIRE) == GF_INLET) {
		__atomic_store_n(&in->lock, 0, __ATOMIC_RELEASE);
		return 0;
	}
	ep->posted++;
	struct gf_post *p = &in->ring[tail % GF_INLET];
	*p = (struct gf_post){GF_ID(ep), src, tag, ignore, (uintptr_t)context, buf, len, tagged};
	// Store the tail before reading shut: Go sets shut and then reads tail, so that one of the two sees the other.
	__atomic_store_n(&in->tail, tail + 1, __ATOMIC_SEQ_CST);
	int shut = __atomic_load_n(&in->shut, __ATOMIC_SEQ_CST);
	__atomic_store_n(&in->lock, 0, __ATOMIC_RELEASE);
	if (shut)
		goSettle(GF_ID(ep));
	return 1;
}
