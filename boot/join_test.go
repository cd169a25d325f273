package boot

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestChoose: Join chooses the source that the environment describes.
func TestChoose(t *testing.T) {
	t.Setenv("FABRICD_DIR", "off")
	type env = map[string]string
	for _, c := range []struct {
		name string
		env  env
		cfg  Config
		want member
		root string
		err  string
	}{
		{name: "nothing", err: "GOFABRIC_RANK"},
		{name: "own", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3", "GOFABRIC_ROOT": "n0:1",
			"GOFABRIC_JOB": "j"}, want: member{TCP, "j", 1, 3}, root: "n0:1"},
		{name: "own before others", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3", "SLURM_PROCID": "2",
			"SLURM_NTASKS": "4", "GOFABRIC_ROOT": "n0:1"}, want: member{TCP, "", 1, 3}, root: "n0:1"},
		{name: "openmpi", env: env{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "GOFABRIC_ROOT": "n0:1"},
			want: member{TCP, "", 1, 2}, root: "n0:1"},
		{name: "slurm", env: env{"SLURM_PROCID": "7", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "44", "SLURM_STEP_ID": "0",
			"GOFABRIC_ROOT": "n0:1"}, want: member{TCP, "44.0", 7, 8}, root: "n0:1"},
		{name: "pmi without connection", env: env{"PMI_RANK": "0", "PMI_SIZE": "2", "GOFABRIC_ROOT": "n0:1"},
			want: member{TCP, "", 0, 2}, root: "n0:1"},
		{name: "kubernetes", env: env{"JOB_COMPLETION_INDEX": "2", "GOFABRIC_SIZE": "4", "HOSTNAME": "sim-2",
			"GOFABRIC_SUBDOMAIN": "sim-svc"}, want: member{Kubernetes, "sim", 2, 4}, root: "sim-0.sim-svc:7470"},
		{name: "kubernetes root", env: env{"JOB_COMPLETION_INDEX": "2", "GOFABRIC_SIZE": "4", "HOSTNAME": "x",
			"GOFABRIC_ROOT": "n0:1", "GOFABRIC_JOB": "j"}, want: member{Kubernetes, "j", 2, 4}, root: "n0:1"},
		{name: "kubernetes size", env: env{"JOB_COMPLETION_INDEX": "2"}, err: "GOFABRIC_SIZE"},
		{name: "kubernetes index", env: env{"JOB_COMPLETION_INDEX": "4", "GOFABRIC_SIZE": "4"},
			err: "JOB_COMPLETION_INDEX"},
		{name: "kubernetes nowhere", env: env{"JOB_COMPLETION_INDEX": "0", "GOFABRIC_SIZE": "4"},
			err: "GOFABRIC_SUBDOMAIN"},
		{name: "no place", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3"}, err: "GOFABRIC_ROOT"},
		{name: "rank alone", env: env{"GOFABRIC_RANK": "1"}, err: `GOFABRIC_SIZE is ""`},
		{name: "size alone", env: env{"GOFABRIC_SIZE": "3", "GOFABRIC_ROOT": "n0:1"}, err: `GOFABRIC_RANK is ""`},
		{name: "too many", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "9999999"}, err: "at most 1048576"},
		{name: "no daemon", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3", "GOFABRIC_JOB": "j"},
			err: "no fabricd is running"},
		{name: "no port", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3", "GOFABRIC_ROOT": "n0"}, err: "a port"},
		{name: "bad rank", env: env{"GOFABRIC_RANK": "3", "GOFABRIC_SIZE": "3"}, err: "GOFABRIC_RANK"},
		{name: "no number", env: env{"GOFABRIC_RANK": "a", "GOFABRIC_SIZE": "3"}, err: "GOFABRIC_RANK"},
		{name: "options", env: env{"GOFABRIC_RANK": "1", "GOFABRIC_SIZE": "3", "PMI_FD": "3"},
			cfg: Config{Rank: 0, Size: 2, Root: "n1:2", Name: "k"}, want: member{TCP, "k", 0, 2}, root: "n1:2"},
		{name: "bad options", cfg: Config{Rank: 2, Size: 2}, err: "rank 2 of 2"},
		{name: "bad source", cfg: Config{Source: "x"}, err: "no source"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := c.cfg
			cfg.lookup = lookup(c.env)
			cfg.fill()
			m := member{source: cfg.Source, name: cfg.Name, rank: cfg.Rank, size: cfg.Size}
			_, err := cfg.choose(&m)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%+v, %v; want an error with %s", m, err, c.err)
				}
				return
			}
			if err != nil || m != c.want || cfg.Root != c.root {
				t.Errorf("%+v at %s, %v; want %+v at %s", m, cfg.Root, err, c.want, c.root)
			}
		})
	}
}

func TestNoJob(t *testing.T) {
	_, err := Join(context.Background(), Config{lookup: lookup(nil)})
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoJob) || e.Rank != -1 {
		t.Fatalf("%v", err)
	}
}
