package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"gofabric/boot/internal/pmi"
)

// This file joins jobs of launchers that implement PMI.

// joinPMI connects to the launcher, in the version that was asked for, or in one that the launcher supports.
func joinPMI(ctx context.Context, c *Config, m *member) (store, error) {
	wants := m.source
	m.source = cmp.Or(m.source, PMI1)
	l, err := dialLauncher(ctx, c)
	if err != nil {
		return nil, err
	}
	version := "1"
	// Slurm's plugin pmi2 also supports version 1, but is made for version 2. The name that it gives a job
	// identifies it.
	if wants == PMI2 || wants == "" && c.env("PMI_JOBID") != "" && c.env("SLURM_JOB_ID") != "" {
		version = "2"
	}
	s, err := hello(ctx, c, m, l, version)
	if err != nil {
		l.conn.Close()
		return nil, err
	}
	return s, nil
}

func hello(ctx context.Context, c *Config, m *member, l *launcher, version string) (store, error) {
	if err := c.introduce(ctx, m, l); err != nil {
		return nil, err
	}
	sub := map[string]string{"1": "1", "2": "0"}
	got, err := l.ask(ctx, pmi.Message{{Name: "cmd", Value: "init"}, {Name: "pmi_version", Value: version}, {Name: "pmi_subversion", Value: sub[version]}}, "response_to_init")
	if err != nil {
		return nil, err
	}
	if v := got.Get("pmi_version"); v != version {
		return nil, fmt.Errorf("the launcher speaks version %.20q of PMI, not %s", v, version)
	}
	if version == "2" {
		m.source = PMI2
		return joinPMI2(ctx, c, m, l)
	}
	m.source = PMI1
	return joinPMI1(ctx, m, l)
}

// introduce gets rank and size: from the environment, or, on a connection that this process made, from the
// launcher.
func (c *Config) introduce(ctx context.Context, m *member, l *launcher) error {
	var err error
	if c.env(envPMIFD) != "" {
		m.rank, m.size, err = parseRank("PMI_RANK", c.env("PMI_RANK"), "PMI_SIZE", c.env("PMI_SIZE"))
		return err
	}
	if _, err = l.ask(ctx, pmi.Message{{Name: "cmd", Value: "initack"}, {Name: "pmiid", Value: c.env("PMI_ID")}}, "initack"); err != nil {
		return err
	}
	said := map[string]string{}
	for range 3 { // size, rank and debug, in any order
		got, err := l.hear(ctx, "initack")
		if err == nil {
			err = got.Check("set")
		}
		if err != nil {
			return err
		}
		if len(got) > 1 {
			said[got[1].Name] = got[1].Value
		}
	}
	m.rank, m.size, err = parseRank("rank", said["rank"], "size", said["size"])
	return err
}

// pmiStore stores values with a launcher, in parts that the launcher accepts.
type pmiStore struct {
	l      *launcher
	limits pmi.Limits
	verbs  pmiVerbs
}

// pmiVerbs has the calls of a version of PMI.
type pmiVerbs interface {
	put(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error) // ErrNoKey
	fence(ctx context.Context) error
	finish(ctx context.Context) error
}

func (s *pmiStore) put(ctx context.Context, key string, value []byte) error {
	parts, err := s.limits.Split(value)
	if err != nil {
		return err
	}
	name := s.limits.Name(key)
	for i, p := range parts {
		if err := s.verbs.put(ctx, pmi.Part(name, i), p); err != nil {
			return err
		}
	}
	return nil
}

func (s *pmiStore) get(ctx context.Context, key string) ([]byte, error) {
	name := s.limits.Name(key)
	first, err := s.verbs.get(ctx, name)
	if err != nil {
		return nil, err
	}
	count, err := s.limits.Count(first)
	if err != nil {
		return nil, err
	}
	parts := []string{first}
	for i := 1; i < count; i++ {
		p, err := s.verbs.get(ctx, pmi.Part(name, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return pmi.Join(parts)
}

func (s *pmiStore) forget(context.Context, []string) {} // PMI has no such call

func (s *pmiStore) fence(ctx context.Context) error { return s.verbs.fence(ctx) }

func (s *pmiStore) close(ctx context.Context) error {
	var err error
	if s.l.err == nil {
		err = s.verbs.finish(ctx)
	}
	return errors.Join(err, s.l.conn.Close())
}

// maxLine is the longest line that all launchers accept, for any limit that they report for values (PMIU_MAXLINE of
// MPICH). Slurm's buffer for a whole line has this size, and Slurm reports the same size for values.
const maxLine = 1024

// pmi1 is version 1.
type pmi1 struct {
	l    *launcher
	name string // of the key-value space
}

func joinPMI1(ctx context.Context, m *member, l *launcher) (store, error) {
	got, err := l.ask(ctx, pmi.Message{{Name: "cmd", Value: "get_maxes"}}, "maxes")
	if err != nil {
		return nil, err
	}
	var limits pmi.Limits
	if limits.Key, err = got.Number("keylen_max", pmi.MaxMessage/2); err != nil {
		return nil, err
	}
	if limits.Value, err = got.Number("vallen_max", pmi.MaxMessage/2); err != nil {
		return nil, err
	}
	if err := limits.Check(); err != nil {
		return nil, err
	}
	if got, err = l.ask(ctx, pmi.Message{{Name: "cmd", Value: "get_my_kvsname"}}, "my_kvsname"); err != nil {
		return nil, err
	}
	m.name = got.Get("kvsname")
	p := &pmi1{l, m.name}
	longest := pmi.V1{}.Append(nil, p.putting(strings.Repeat("k", limits.Key), ""))
	limits.Value = min(limits.Value, maxLine-len(longest))
	if err := limits.Check(); err != nil {
		return nil, err
	}
	return &pmiStore{l, limits, p}, nil
}

func (p *pmi1) put(ctx context.Context, key, value string) error {
	_, err := p.l.ask(ctx, p.putting(key, value), "put_result")
	return err
}

func (p *pmi1) putting(key, value string) pmi.Message {
	return pmi.Message{{Name: "cmd", Value: "put"}, {Name: "kvsname", Value: p.name}, {Name: "key", Value: key}, {Name: "value", Value: value}}
}

func (p *pmi1) get(ctx context.Context, key string) (string, error) {
	got, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "get"}, {Name: "kvsname", Value: p.name}, {Name: "key", Value: key}}, "get_result")
	if errors.Is(err, pmi.ErrRefused) { // rc=-1 msg=key_x_not_found
		return "", fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	return got.Get("value"), err
}

func (p *pmi1) fence(ctx context.Context) error {
	_, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "barrier_in"}}, "barrier_out")
	return err
}

func (p *pmi1) finish(ctx context.Context) error {
	_, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "finalize"}}, "finalize_ack")
	return err
}

// pmi2Limits are the limits of version 2, which has no query for them (PMI2_MAX_KEYLEN and PMI2_MAX_VALLEN of
// pmi2.h).
var pmi2Limits = pmi.Limits{Key: 64, Value: 1024}

// pmi2 is version 2.
type pmi2 struct{ l *launcher }

func joinPMI2(ctx context.Context, c *Config, m *member, l *launcher) (store, error) {
	l.dialect = pmi.V2{} // init is the same in all versions
	rank := fmt.Sprint(m.rank)
	got, err := l.ask(ctx, pmi.Message{{Name: "cmd", Value: "fullinit"}, {Name: "pmijobid", Value: c.env("PMI_JOBID", "PMI_ID")}, {Name: "pmirank", Value: rank},
		{Name: "threaded", Value: "FALSE"}}, "fullinit-response")
	if err != nil {
		return nil, err
	}
	if m.rank, m.size, err = parseRank("rank", got.Get("rank"), "size", got.Get("size")); err != nil {
		return nil, err
	}
	if got, err = l.ask(ctx, pmi.Message{{Name: "cmd", Value: "job-getid"}}, "job-getid-response"); err != nil {
		return nil, err
	}
	m.name = got.Get("jobid")
	return &pmiStore{l, pmi2Limits, &pmi2{l}}, nil
}

func (p *pmi2) put(ctx context.Context, key, value string) error {
	_, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "kvs-put"}, {Name: "key", Value: key}, {Name: "value", Value: value}}, "kvs-put-response")
	return err
}

func (p *pmi2) get(ctx context.Context, key string) (string, error) {
	got, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "kvs-get"}, {Name: "jobid"}, {Name: "key", Value: key}}, "kvs-get-response")
	if err != nil {
		return "", err
	}
	if got.Get("found") != "TRUE" && got.Get("flag") != "TRUE" {
		return "", ErrNoKey
	}
	return got.Get("value"), nil
}

func (p *pmi2) fence(ctx context.Context) error {
	_, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "kvs-fence"}}, "kvs-fence-response")
	return err
}

func (p *pmi2) finish(ctx context.Context) error {
	_, err := p.l.ask(ctx, pmi.Message{{Name: "cmd", Value: "finalize"}}, "finalize-response")
	return err
}
