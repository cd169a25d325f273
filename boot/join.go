package boot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gofabric/internal/fabricd"
)

// Join finds the job of this process and joins it; the package comment describes how. It waits until the job's
// meeting place answers, not for the other processes. The error wraps ErrNoJob if there is no sign of a job.
func Join(ctx context.Context, cfg Config) (*Job, error) {
	c := &cfg
	c.fill()
	ctx, cancel := withDeadline(ctx, c.Timeout)
	defer cancel()
	m := member{source: c.Source, name: c.Name, rank: c.Rank, size: c.Size}
	open, err := c.choose(&m)
	if err != nil {
		return nil, m.failed("Join", err)
	}
	s, err := open(ctx, c, &m)
	if err != nil {
		return nil, m.failed("Join", err)
	}
	return newJob(m, s, c.Timeout), nil
}

// opener joins a job. m has what is known, and receives what the opener learns.
type opener func(ctx context.Context, c *Config, m *member) (store, error)

// choose returns the opener of the job's source, and fills in m from the environment.
func (c *Config) choose(m *member) (opener, error) {
	switch c.Source {
	case PMI1, PMI2:
		return joinPMI, nil
	case Kubernetes:
		return c.kubernetes(m)
	case "", TCP, File, Fabricd:
	default:
		return nil, fmt.Errorf("there is no source %.40q; the sources are %s, %s, %s, %s, %s and %s", c.Source, PMI1, PMI2, Kubernetes, TCP, File, Fabricd)
	}
	if c.Source == "" && c.Size == 0 {
		if c.env(envPMIFD, envPMIPort) != "" {
			return joinPMI, nil
		}
		if c.env(envIndex) != "" {
			return c.kubernetes(m)
		}
	}
	if err := c.ranks(m); err != nil {
		return nil, err
	}
	return c.place(m)
}

// launchers has the variables in which launchers pass rank and size.
var launchers = []struct{ rank, size string }{
	{"GOFABRIC_RANK", "GOFABRIC_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
	{"PMI_RANK", "PMI_SIZE"},
}

// ranks reads rank and size.
func (c *Config) ranks(m *member) error {
	if c.Size == 0 {
		for _, l := range launchers {
			rank, size := c.env(l.rank), c.env(l.size)
			if rank == "" || size == "" {
				continue
			}
			var err error
			if m.rank, m.size, err = parseRank(l.rank, rank, l.size, size); err != nil {
				return err
			}
			break
		}
	}
	if rank, size := c.env("GOFABRIC_RANK"), c.env("GOFABRIC_SIZE"); m.size == 0 && rank+size != "" {
		return fmt.Errorf("%w: GOFABRIC_RANK is %.40q and GOFABRIC_SIZE is %.40q: set both", ErrNoJob, rank, size)
	}
	if m.size == 0 {
		return fmt.Errorf("%w: start it with mpiexec.hydra or srun --mpi=pmi2, or set GOFABRIC_RANK, GOFABRIC_SIZE and GOFABRIC_ROOT", ErrNoJob)
	}
	if m.size < 0 || m.size > maxSize || m.rank < 0 || m.rank >= m.size {
		return fmt.Errorf("rank %d of %d processes is not valid", m.rank, m.size)
	}
	if m.name == "" {
		m.name = c.env("GOFABRIC_JOB", "SLURM_JOB_ID")
		if step := c.env("SLURM_STEP_ID"); step != "" && c.env("GOFABRIC_JOB") == "" {
			m.name += "." + step
		}
	}
	return nil
}

func parseRank(rankName, rank, sizeName, size string) (r, n int, err error) {
	r, err = strconv.Atoi(rank)
	if err == nil {
		n, err = strconv.Atoi(size)
	}
	if err != nil || n < 1 || n > maxSize || r < 0 || r >= n {
		return 0, 0, fmt.Errorf("%s=%.40q and %s=%.40q are not a rank and a number of processes (at most %d)", rankName, rank, sizeName, size, maxSize)
	}
	return r, n, nil
}

// place chooses the meeting place of processes that know rank and size.
func (c *Config) place(m *member) (opener, error) {
	if c.Root == "" {
		c.Root = c.env("GOFABRIC_ROOT")
	}
	if c.Dir == "" {
		c.Dir = c.env("GOFABRIC_BOOT_DIR")
	}
	is := func(source string, there bool) bool { return c.Source == source || c.Source == "" && there }
	switch {
	case m.size == 1 && c.Source == "":
		m.source = Single
		return func(context.Context, *Config, *member) (store, error) { return newLocal(), nil }, nil
	case is(TCP, c.Root != ""):
		if !strings.Contains(c.Root, ":") {
			return nil, fmt.Errorf("the address of rank 0 is %.80q; set GOFABRIC_ROOT to its host and a port, such as node0:7470", c.Root)
		}
		m.source = TCP
		return joinTCP, nil
	case is(File, c.Dir != ""):
		if c.Dir == "" {
			return nil, errors.New("set GOFABRIC_BOOT_DIR to a folder that all processes see")
		}
		m.source = File
		return joinFile, nil
	case is(Fabricd, c.Daemon != "" || m.name != "" && fabricd.Find(fabricd.API) != ""):
		m.source = Fabricd
		return joinDaemon, nil
	}
	if name := c.env("GOFABRIC_JOB"); name != "" || c.Name != "" {
		return nil, fmt.Errorf("the job %.80q has a name (GOFABRIC_JOB), but no fabricd is running on this node where its processes could meet (%s): start one with fabricd run, or set "+
			"GOFABRIC_ROOT to host and port of rank 0, or GOFABRIC_BOOT_DIR to a folder that all processes see", m.name, fabricd.EnvDir+"="+c.env(fabricd.EnvDir))
	}
	return nil, errors.New("this process has a rank, but no place to meet the other processes of the job: set GOFABRIC_ROOT to host and port of rank 0, or " +
		"GOFABRIC_BOOT_DIR to a folder that all processes see, or GOFABRIC_JOB to a name if fabricd is running here")
}
