// Package pingpong is libfabric's ping-pong test: two processes exchange messages of growing sizes and report
// latency and throughput. It follows fi_pingpong(1), so that either end may be the native tool: it has the same
// exchange over a TCP control connection (control.go), the same hints, the same order of posts, and the same data
// pattern.
//
// Unlike the native tool it always ends: Config.Timeout and a context bound each wait, for the peer, for a
// completion or for an event. Only a server's wait for its client may be unlimited (NoLimit).
package pingpong

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gofabric/core"
)

// DefaultPort is the TCP port of the control connection (fi_pingpong(1)).
const DefaultPort = 47592

// tag is the tag of every tagged message. It is part of the protocol between the two ends.
const tag = 1234

// Config is the configuration of a run. Zero values mean the defaults of fi_pingpong(1). The functions must be set.
type Config struct {
	Server     string // the server's host name or address; empty makes this end the server
	SrcPort    uint16 // -B: local control port; 0 is DefaultPort for a server, any for a client
	DstPort    uint16 // -P: the server's control port; 0 is DefaultPort
	SrcAddr    string // -s: local address of the fabric traffic
	Domain     string // -d
	Fabric     string // -f
	Provider   string // -p
	Type       core.EPType
	Iterations int // -I; DefaultIterations unless set
	Size       int // -S; UnsetSize or AllSizes are special
	Tagged     bool
	Check      bool // -c: verify the data of each message
	IPv6       bool // -6: the control connection uses IPv6

	// Timeout bounds each stretch without progress: the wait for the peer, for one completion, for one control
	// message. 0 is DefaultTimeout.
	Timeout time.Duration
	// Wait bounds a server's wait for its client. 0 is Timeout. With NoLimit the server waits until its context
	// ends.
	Wait  time.Duration
	grace time.Duration // goneGrace, except in tests

	GetInfo    func(hints *core.Info) ([]*core.Info, error)
	OpenFabric func(info *core.Info) (*core.Fabric, error)

	OnResult  func(Result)                     // called after each size; may be nil
	Logf      func(format string, args ...any) // -v; may be nil
	Listening func(addr string)                // called by a server once its control port listens; may be nil
}

// Special values of Config.Size.
const (
	UnsetSize = -1 // the default sizes, as far as the endpoint allows
	AllSizes  = -2 // all powers of two, and the sizes half-way between them
)

// NoLimit as Config.Wait makes a server wait for a client without limit.
const NoLimit = -1

// Defaults of Config.
const (
	DefaultIterations = 10
	DefaultTimeout    = 60 * time.Second
)

func (c *Config) isClient() bool { return c.Server != "" }

func (c *Config) logf(format string, args ...any) {
	if c.Logf != nil {
		c.Logf(format, args...)
	}
}

// normalize checks c and fills in defaults.
func (c *Config) normalize() error {
	if c.Type == core.EPTypeUnspec {
		c.Type = core.EPTypeDgram
	}
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Wait = cmp.Or(c.Wait, c.Timeout)
	c.grace = cmp.Or(c.grace, goneGrace)
	switch {
	case c.Timeout < 0:
		return fmt.Errorf("timeout %v is negative", c.Timeout)
	case c.Iterations < 0:
		return fmt.Errorf("%d iterations: must not be negative", c.Iterations)
	case c.Size < AllSizes:
		return fmt.Errorf("message size %d is negative", c.Size)
	case c.GetInfo == nil || c.OpenFabric == nil:
		return errors.New("pingpong: Config.GetInfo and Config.OpenFabric must be set")
	}
	return nil
}

// Run runs the whole test and returns one Result per size. It closes everything it opened. On an error the results
// so far are returned with it.
func Run(ctx context.Context, cfg Config) (results []Result, err error) {
	if err := cfg.normalize(); err != nil {
		return nil, err
	}
	b := &bench{cfg: &cfg, ctx: ctx}
	defer func() {
		if cerr := b.close(); cerr != nil && err == nil {
			err = cerr
		}
	}()
	hints, err := b.hints()
	if err != nil {
		return nil, err
	}
	if !cfg.isClient() {
		// A server's needs do not depend on the client: report an error now.
		if b.info, err = b.getInfo(hints); err != nil {
			return nil, err
		}
	}
	if b.ctl, err = openControl(ctx, &cfg); err != nil {
		return nil, err
	}
	if err := b.setup(hints); err != nil {
		return nil, err
	}
	cfg.logf("running over %s, domain %s, %s", b.info.Fabric.ProvName, b.info.Domain.Name, b.info.EP.Type)
	for _, size := range testSizes(cfg.Size, len(b.rx)) {
		r, err := b.pingpong(size)
		if err != nil {
			return results, fmt.Errorf("size %d: %w", size, err)
		}
		results = append(results, r)
		if cfg.OnResult != nil {
			cfg.OnResult(r)
		}
	}
	if err := b.finish(); err != nil {
		return results, err
	}
	return results, nil
}
