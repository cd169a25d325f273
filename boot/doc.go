// Package boot starts a job: processes that were started together learn how many they are, their own ranks, and the
// addresses of all.
//
//	job, err := boot.Join(ctx, boot.Config{})           // rank and size, from the launcher of this process
//	defer job.Close()
//	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp"})
//	peers, err := boot.Peers(ctx, job, ep)              // peers[i] is rank i
//	err = ep.TSend(ctx, peers[0], buf, 42)
//
// Programs that use core's objects fill an address vector with job.Fill(ctx, ep, av). Afterwards fi_addr i is rank
// i if the vector was empty.
//
// # Launchers
//
// Join reads the environment, in this order:
//
//   - PMI_FD or PMI_PORT: a launcher that implements PMI, such as mpiexec.hydra (PMI-1) or srun --mpi=pmi2 (PMI-2).
//     Nothing else is needed.
//   - JOB_COMPLETION_INDEX: an indexed job of Kubernetes. GOFABRIC_SIZE is the number of its completions. Rank 0 is
//     found by the name of its pod, JOB-0, in the job's headless service, which GOFABRIC_SUBDOMAIN names, or by
//     GOFABRIC_ROOT. With neither, but GOFABRIC_JOB, pods meet in fabricd's directory.
//   - GOFABRIC_RANK and GOFABRIC_SIZE, or the same of other launchers: OMPI_COMM_WORLD_RANK and _SIZE (Open MPI),
//     SLURM_PROCID and SLURM_NTASKS (srun), PMI_RANK and PMI_SIZE.
//
// If the environment has rank and size only, processes meet at one of three places:
//
//   - GOFABRIC_ROOT=node0:7470: rank 0 listens at this address, all others connect to it.
//   - GOFABRIC_BOOT_DIR=/shared/dir: files in a folder that all processes can access.
//   - the directory of this node's fabricd, if there is one, and GOFABRIC_JOB or SLURM_JOB_ID names the job.
//
// GOFABRIC_JOB is the name of the job, new for each run. With GOFABRIC_ROOT it also proves that a process belongs
// to the job. A name that is hard to guess keeps other processes out, unless they can read the network traffic. The
// fields of Config set the same in code.
//
// # Waiting
//
// Every call ends with its context. A context without a deadline gets one of two minutes, or the one set with
// Timeout. Errors name the missing ranks, where that is possible. After an error of Fence or Exchange the job is
// over: other processes may be in another state.
//
// A process joins once. A process that also calls MPI_Init leaves PMI to MPI, and asks MPI for rank, size and
// addresses.
package boot
