package boot

import (
	"cmp"
	"net"
	"os"
	"time"
)

// Config replaces what Join otherwise reads from the environment. The zero value replaces nothing.
type Config struct {
	// Source is the only source that Join uses: PMI1, PMI2, Kubernetes, TCP, File or Fabricd. "": the first
	// available one.
	Source string

	// Rank is the number of this process, Size the number of processes. They are used if Size is not 0.
	Rank, Size int

	// Name is the job's name, new for each run (GOFABRIC_JOB).
	Name string

	// Root is the address, host and port, where rank 0 listens for the other processes (GOFABRIC_ROOT).
	Root string

	// Dir is a folder that all processes can access, in which they meet (GOFABRIC_BOOT_DIR).
	Dir string

	// Daemon is the API socket of the fabricd where processes meet; "" is this node's.
	Daemon string

	// Timeout is the time-out of calls whose context has no deadline; 0 is two minutes.
	Timeout time.Duration

	lookup func(string) (string, bool)                // the environment
	listen func(address string) (net.Listener, error) // of rank 0
}

// The sources, for Config.Source and Job.Source.
const (
	PMI1       = "pmi1"       // PMI-1: mpiexec.hydra and others
	PMI2       = "pmi2"       // PMI-2: srun --mpi=pmi2
	Kubernetes = "kubernetes" // an indexed job
	TCP        = "tcp"        // processes meet at rank 0
	File       = "file"       // processes meet in a folder
	Fabricd    = "fabricd"    // processes meet in the directory of fabricd
	Single     = "single"     // a job of one process
)

const defaultTimeout = 2 * time.Minute

// fill fills in defaults.
func (c *Config) fill() {
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.Size == 0 {
		c.Rank = -1
	}
	if c.lookup == nil {
		c.lookup = os.LookupEnv
	}
	if c.listen == nil {
		c.listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
}

// env returns the value of the first of several variables that is set.
func (c *Config) env(names ...string) string {
	for _, n := range names {
		if v, ok := c.lookup(n); ok && v != "" {
			return v
		}
	}
	return ""
}
