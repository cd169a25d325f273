// The tables of calls that objects point to.
#ifndef GF_OPS_H
#define GF_OPS_H

#include "abi.h"

extern struct fi_ops_fabric gf_fabric_ops;
extern struct fi_ops_domain gf_domain_ops;
extern struct fi_ops_mr gf_mr_ops;
extern struct fi_ops_av gf_av_ops;
extern struct fi_ops_av_set gf_av_set_ops;
extern struct fi_ops_eq gf_eq_ops;
extern struct fi_ops_cq gf_cq_ops;
extern struct fi_ops_cntr gf_cntr_ops;
extern struct fi_ops_wait gf_wait_ops;
extern struct fi_ops_poll gf_poll_ops;
extern struct fi_ops_ep gf_ep_ops;
extern struct fi_ops_cm gf_cm_ops;
extern struct fi_ops_msg gf_msg_ops;
extern struct fi_ops_rma gf_rma_ops;
extern struct fi_ops_tagged gf_tagged_ops;
extern struct fi_ops_atomic gf_atomic_ops;
extern struct fi_ops_collective gf_collective_ops;

#endif
