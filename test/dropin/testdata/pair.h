// What the test programs share: checks, and a pair of endpoints in one process that can talk to each other. A program takes provider and endpoint type (msg,
// rdm, dgram), checks one family of calls, and ends with status 0, or prints the line that failed and ends with 1.
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

// failed prints what went wrong and ends the program.
void failed(const char *file, int line, const char *what, long long got);

#define IS(condition) do { if (!(condition)) failed(__FILE__, __LINE__, #condition, 0); } while (0)
#define EQUAL(a, b) do { long long a_ = (long long)(a), b_ = (long long)(b); if (a_ != b_) failed(__FILE__, __LINE__, #a " == " #b, a_); } while (0)
// OK wants a call to return 0 or more; FAILS wants it to return an error.
#define OK(call) do { long long rc_ = (call); if (rc_ < 0) failed(__FILE__, __LINE__, #call, rc_); } while (0)
#define FAILS(call, error) EQUAL(call, -(error))
// POST repeats a transfer as long as there is no room, while both ends make progress.
#define POST(call) do { long long rc_; while ((rc_ = (call)) == -FI_EAGAIN) progress(__FILE__, __LINE__); if (rc_) failed(__FILE__, __LINE__, #call, rc_); } while (0)

// One end. Completions of both directions are in one queue.
struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *tx_cntr, *rx_cntr; // if options.counters
	struct fid_ep *ep;
	fi_addr_t peer;
	struct fi_cq_tagged_entry done[256]; // completions that nobody has waited for yet
	fi_addr_t from[256];
	int ndone;
};

// What pair_open opens; the program may change it before.
extern struct options {
	const char *provider;
	enum fi_ep_type type;
	uint64_t caps, cq_flags;
	int mr_mode, counters, disabled; // disabled: fi_enable is not called
	enum fi_wait_obj wait_obj;
	enum fi_threading threading;
	void (*before_enable)(struct end *); // when everything is bound
	void (*more_hints)(struct fi_info *);
} options;

extern struct end a, b;

// begin reads the arguments, checks which libfabric is mapped (DROPIN_LIBRARY), and sets an alarm. pair_open opens a and b and connects them; pair_close
// closes all that is open.
void begin(int argc, char **argv);
void pair_open(void);
void pair_close(void);

struct fi_info *hints_for(void);
void end_open(struct end *e);  // all but the endpoint's connection
void end_connect(void);        // connects a to b
void endpoint_open(struct end *e, struct fi_info *info);

// completion waits for the completion of an operation; failure wants it to be one with an error. src may be NULL.
struct fi_cq_tagged_entry completion(struct end *e, void *context, fi_addr_t *src);
struct fi_cq_err_entry failure(struct end *e, void *context, int error);
// event waits for an event; its entry, data included, is in the buffer that is returned, whose length is in *len.
void *event(struct end *e, uint32_t want, size_t *len);
void progress(const char *file, int line);
// nothing wants no completion to be there.
void nothing(struct end *e);

void fill(void *buf, size_t len, int seed);
void same(const void *got, size_t len, int seed);
uint64_t now_ms(void);

#endif
