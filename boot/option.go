package boot

import (
	"net"
	"os"
	"time"
)

// Option says what Join would otherwise take from the environment.
type Option func(*config)

type config struct {
	source  string
	rank    int
	size    int // 0: not said
	name    string
	root    string
	dir     string
	daemon  string
	timeout time.Duration
	lookup  func(string) (string, bool)
	listen  func(address string) (net.Listener, error) // of rank 0
}

// The names of sources, for From and Job.Source.
const (
	PMI1       = "pmi1"       // PMI-1: mpiexec.hydra and others
	PMI2       = "pmi2"       // PMI-2: srun --mpi=pmi2
	Kubernetes = "kubernetes" // an indexed job
	TCP        = "tcp"        // processes meet at rank 0
	File       = "file"       // processes meet in a folder
	Fabricd    = "fabricd"    // processes meet in the directory of fabricd
	Single     = "single"     // a job of one process
)

// From takes the job from one source only: PMI1, PMI2, Kubernetes, TCP, File or Fabricd.
func From(source string) Option { return func(c *config) { c.source = source } }

// Rank says which of how many processes this is.
func Rank(rank, size int) Option { return func(c *config) { c.rank, c.size = rank, size } }

// Name is the job's name (GOFABRIC_JOB), new for each run.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Root is the address, host and port, where rank 0 listens for the others (GOFABRIC_ROOT).
func Root(address string) Option { return func(c *config) { c.root = address } }

// Dir is a folder that all processes see, in which they meet (GOFABRIC_BOOT_DIR).
func Dir(path string) Option { return func(c *config) { c.dir = path } }

// Daemon is the API socket of the fabricd to meet at; the default is this node's.
func Daemon(socket string) Option { return func(c *config) { c.daemon = socket } }

// Timeout bounds calls whose context has no deadline. The default is two minutes.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

const defaultTimeout = 2 * time.Minute

func configure(opts []Option) *config {
	c := &config{timeout: defaultTimeout, rank: -1, lookup: os.LookupEnv}
	c.listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	for _, o := range opts {
		o(c)
	}
	return c
}

// env is the value of the first variable of several that is set.
func (c *config) env(names ...string) string {
	for _, n := range names {
		if v, ok := c.lookup(n); ok && v != "" {
			return v
		}
	}
	return ""
}
