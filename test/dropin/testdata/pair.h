// The common part of the test programs: checks, and a pair of endpoints in one process. A program's arguments are
// provider and endpoint type (msg, rdm, dgram). It checks one family of calls and exits with status 0, or prints the
// line that failed and exits with 1.
#ifndef PAIR_H
#define PAIR_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

#define API FI_VERSION(1, 17)

// failed prints the error and ends the program.
void failed(const char *file, int line, const char *what, long long got);

#define IS(condition) do { if (!(condition)) failed(__FILE__, __LINE__, #condition, 0); } while (0)
#define EQUAL(a, b) do { long long a_ = (long long)(a), b_ = (long long)(b); if (a_ != b_) failed(__FILE__, __LINE__, #a " == " #b, a_); } while (0)
// OK checks that a call returns 0 or more. FAILS checks that it returns an error.
#define OK(call) do { long long rc_ = (call); if (rc_ < 0) failed(__FILE__, __LINE__, #call, rc_); } while (0)
#define FAILS(call, error) EQUAL(call, -(error))
// POST repeats a transfer as long as there is no room. Both ends make progress meanwhile.
#define POST(call) do { long long rc_; while ((rc_ = (call)) == -FI_EAGAIN) progress(__FILE__, __LINE__); if (rc_) failed(__FILE__, __LINE__, #call, rc_); } while (0)

// One end. Completions of both directions go to one queue.
struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *tx_cntr, *rx_cntr; // with options.counters
	struct fid_ep *ep;
	fi_addr_t peer;
	struct fi_cq_tagged_entry done[256]; // completions that have not been waited for yet
	fi_addr_t from[256];
	int ndone;
};

// What pair_open opens. The program may change it before.
extern struct options {
	const char *provider;
	enum fi_ep_type type;
	uint64_t caps, cq_flags;
	int mr_mode, counters, disabled; // disabled: do not call fi_enable
	enum fi_wait_obj wait_obj;
	enum fi_threading threading;
	void (*before_enable)(struct end *); // called after all objects are bound
	void (*more_hints)(struct fi_info *);
} options;

extern struct end a, b;

// begin reads the arguments, checks which libfabric is mapped (DROPIN_LIBRARY), and sets an alarm. pair_open opens a
// and b and connects them. pair_close closes all objects.
void begin(int argc, char **argv);
void pair_open(void);
void pair_close(void);

struct fi_info *hints_for(void);
void end_open(struct end *e); // everything except the connection
void end_connect(void);        // connects a to b
void endpoint_open(struct end *e, struct fi_info *info);

// completion waits for the completion of an operation. failure expects an error completion. src may be NULL.
struct fi_cq_tagged_entry completion(struct end *e, void *context, fi_addr_t *src);
struct fi_cq_err_entry failure(struct end *e, void *context, int error);
// event waits for an event and returns the buffer with its entry, including data. *len is its length.
void *event(struct end *e, uint32_t want, size_t *len);
void progress(const char *file, int line);
// nothing checks that there is no completion.
void nothing(struct end *e);

void fill(void *buf, size_t len, int seed);
void same(const void *got, size_t len, int seed);
uint64_t now_ms(void);

#endif
