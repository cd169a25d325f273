// A child of fork(2) has no Go runtime. All its calls fail at once and do not affect the parent, which continues. A
// child that executes another program is an ordinary process.
#include "pair.h"
#include <rdma/providers/fi_prov.h>
#include <sys/wait.h>

static char out[64], in[64];
static struct fi_context2 ctx[2];
static struct fid_mr *mr;
static struct fid_cntr *cntr;

static void child(void)
{
	struct fi_info *info = NULL;
	struct fi_cq_tagged_entry e;
	struct fi_cq_attr cq = {0};
	struct fi_eq_attr eq = {0};
	struct fid_cq *q;
	struct fid_eq *events;
	struct fid_fabric *fabric;
	struct sockaddr_in name;
	struct fid *fids[] = {&b.cq->fid};
	size_t len = sizeof name;
	uint32_t event;
	fi_addr_t at;
	alarm(10);
	FAILS(fi_getinfo(API, NULL, NULL, 0, NULL, &info), FI_EOPBADSTATE);
	IS(!fi_dupinfo(a.info));
	fi_freeinfo(a.info);
	FAILS(fi_fabric(a.info->fabric_attr, &fabric, NULL), FI_EOPBADSTATE);
	FAILS(fi_send(a.ep, out, 1, NULL, a.peer, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_inject(a.ep, out, 1, a.peer), FI_EOPBADSTATE);
	FAILS(fi_recv(b.ep, in, 1, NULL, FI_ADDR_UNSPEC, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_tsend(a.ep, out, 1, NULL, a.peer, 1, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_trecv(a.ep, in, 1, NULL, a.peer, 1, 0, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_write(a.ep, out, 1, NULL, a.peer, 0, 0, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_read(a.ep, out, 1, NULL, a.peer, 0, 0, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_atomic(a.ep, out, 1, NULL, a.peer, 0, 0, FI_UINT8, FI_SUM, &ctx[0]), FI_EOPBADSTATE);
	FAILS(fi_cq_read(a.cq, &e, 1), FI_EOPBADSTATE);
	FAILS(fi_cq_sread(a.cq, &e, 1, NULL, -1), FI_EOPBADSTATE);
	FAILS(fi_cq_signal(a.cq), FI_EOPBADSTATE);
	FAILS(fi_eq_read(a.eq, &event, &e, sizeof e, 0), FI_EOPBADSTATE);
	FAILS(fi_eq_sread(a.eq, &event, &e, sizeof e, -1, 0), FI_EOPBADSTATE);
	FAILS(fi_cq_open(a.domain, &cq, &q, NULL), FI_EOPBADSTATE);
	FAILS(fi_eq_open(a.fabric, &eq, &events, NULL), FI_EOPBADSTATE);
	FAILS(fi_trywait(a.fabric, fids, 1), FI_EOPBADSTATE);
	FAILS(fi_getname(&a.ep->fid, &name, &len), FI_EOPBADSTATE);
	FAILS(fi_av_insert(a.av, &name, 1, &at, 0, NULL), FI_EOPBADSTATE);
	FAILS(fi_cntr_add(cntr, 1), FI_EOPBADSTATE);
	FAILS(fi_cntr_wait(cntr, 1, -1), FI_EOPBADSTATE);
	EQUAL(fi_cntr_read(cntr), 0);
	FAILS(fi_close(&mr->fid), FI_EOPBADSTATE);
	FAILS(fi_close(&a.ep->fid), FI_EOPBADSTATE);
	FAILS(fi_control(&a.ep->fid, FI_ENABLE, NULL), FI_EOPBADSTATE);
	IS(fi_strerror(FI_EAGAIN) && fi_tostr(&event, FI_TYPE_EP_TYPE) != (char *)1);
	EQUAL(fi_version(), FI_VERSION(2, 6));
	exit(0); // runs all exit handlers
}

static void talk(void)
{
	POST(fi_recv(b.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, &ctx[0]));
	POST(fi_send(a.ep, out, sizeof out, NULL, a.peer, &ctx[1]));
	completion(&b, &ctx[0], NULL);
	completion(&a, &ctx[1], NULL);
}

int main(int argc, char **argv)
{
	struct fi_cntr_attr attr = {0};
	int status;
	begin(argc, argv);
	options.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	options.wait_obj = FI_WAIT_FD;
	if (argc > 3 && !strcmp(argv[3], "exec")) { // the program that the child executes
		pair_open();
		talk();
		pair_close();
		return 0;
	}
	pair_open();
	OK(fi_mr_reg(a.domain, in, sizeof in, FI_REMOTE_READ, 0, 1, 0, &mr, NULL));
	OK(fi_cntr_open(a.domain, &attr, &cntr, NULL));
	talk();
	for (int round = 0; round < 2; round++) {
		pid_t pid = fork();
		IS(pid >= 0);
		if (!pid && !round)
			child();
		if (!pid) {
			execl("/proc/self/exe", argv[0], argv[1], argv[2], "exec", NULL);
			_exit(99);
		}
		talk();
		IS(waitpid(pid, &status, 0) == pid);
		EQUAL(status, 0);
		talk();
	}
	OK(fi_close(&mr->fid));
	OK(fi_close(&cntr->fid));
	pair_close();
	return 0;
}
