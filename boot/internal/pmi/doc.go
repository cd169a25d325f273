// Package pmi has the messages of the Process Management Interface. With it a process asks its launcher for its
// rank and exchanges values with the other processes of its job. PMI-1 uses lines of text (MPICH's src/pmi and
// hydra's pm/pmiserv/pmiserv_pmi_v1.c), PMI-2 frames with a length (pmiserv_pmi_v2.c, Slurm's
// src/plugins/mpi/pmi2). The package does no I/O.
package pmi
