package boot

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"gofabric/internal/fabricd"
)

// This file joins indexed jobs of Kubernetes.

const (
	envIndex    = "JOB_COMPLETION_INDEX" // Kubernetes sets it in the pods of indexed jobs
	defaultPort = "7470"
)

// kubernetes fills in the job from the environment of a pod. Pods of indexed jobs have the host name JOB-INDEX. A
// headless service that selects them, and that their template names as subdomain, makes them reachable as
// JOB-INDEX.SERVICE.
func (c *Config) kubernetes(m *member) (opener, error) {
	m.source = Kubernetes
	size := c.env("GOFABRIC_SIZE")
	if size == "" {
		return nil, errors.New("a pod does not learn from Kubernetes how many pods the job has: set GOFABRIC_SIZE to the job's completions")
	}
	var err error
	if m.rank, m.size, err = parseRank(envIndex, c.env(envIndex), "GOFABRIC_SIZE", size); err != nil {
		return nil, err
	}
	host := c.env("HOSTNAME")
	base, found := strings.CutSuffix(host, fmt.Sprintf("-%d", m.rank))
	if m.name == "" {
		if m.name = c.env("GOFABRIC_JOB"); m.name == "" {
			m.name = base
		}
	}
	if c.Root == "" {
		c.Root = c.env("GOFABRIC_ROOT")
	}
	if c.Root == "" {
		service := c.env("GOFABRIC_SUBDOMAIN")
		switch {
		case service == "" && c.env("GOFABRIC_JOB") != "" && (c.Daemon != "" || fabricd.Find(fabricd.API) != ""):
			return joinDaemon, nil
		case service == "" || !found:
			return nil, errors.New("the address of rank 0 is unknown: set GOFABRIC_SUBDOMAIN to the job's headless service, or GOFABRIC_ROOT to host and port of rank 0")
		}
		c.Root = net.JoinHostPort(base+"-0."+service, defaultPort)
	}
	return joinTCP, nil
}
