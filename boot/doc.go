// Package boot starts a job: processes that were started together learn how many they are, which of them each is, and the addresses of all.
//
//	job, err := boot.Join(ctx)                          // rank and size, from whoever started this process
//	defer job.Close()
//	ep, err := gofabric.Open(ctx, gofabric.Provider("tcp"))
//	peers, err := boot.Peers(ctx, job, ep)              // peers[i] is rank i
//	err = ep.TSend(ctx, peers[0], buf, 42)
//
// Who works with core's objects fills an address vector: job.Fill(ctx, ep, av), after which fi_addr i is rank i if the vector was empty.
//
// # Who starts a job
//
// Join looks at the environment, in this order:
//
//   - PMI_FD or PMI_PORT: a launcher that speaks PMI, such as mpiexec.hydra (PMI-1) or srun --mpi=pmi2 (PMI-2). Nothing else is needed.
//   - JOB_COMPLETION_INDEX: an indexed job of Kubernetes. GOFABRIC_SIZE says how many completions it has; rank 0 is found by the name of its pod, JOB-0, in
//     the job's headless service, which GOFABRIC_SUBDOMAIN names, or by GOFABRIC_ROOT. With neither, but GOFABRIC_JOB, pods meet in fabricd's directory.
//   - GOFABRIC_RANK and GOFABRIC_SIZE, or the same of other launchers: OMPI_COMM_WORLD_RANK and _SIZE (Open MPI), SLURM_PROCID and SLURM_NTASKS (srun),
//     PMI_RANK and PMI_SIZE.
//
// Where the environment says rank and size only, processes meet at one of three places:
//
//   - GOFABRIC_ROOT=node0:7470: rank 0 listens at this address, all others connect to it.
//   - GOFABRIC_BOOT_DIR=/shared/dir: files in a folder that all processes see.
//   - the directory of this node's fabricd, if there is one, and GOFABRIC_JOB or SLURM_JOB_ID names the job.
//
// GOFABRIC_JOB is the name of the job, new for each run. With GOFABRIC_ROOT it is also what proves that a process belongs to the job; a name that is hard to guess
// keeps strangers on the network out, as long as they cannot read along. The options Rank, Root, Dir and the others say the same in code.
//
// # Waiting
//
// Every call ends with its context. A context without a deadline gets one of two minutes, or what Timeout says. Errors say which ranks are missing, where
// that can be known. After an error of Fence or Exchange the job is over: other processes may be in another state.
//
// A process joins once. A process that also calls MPI_Init leaves PMI to MPI, and asks MPI for what this package would tell.
package boot
