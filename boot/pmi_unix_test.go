//go:build unix

package boot

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/boot/internal/pmi"
)

// script plays a launcher: it expects texts and answers them. If the last answer is missing, it waits for the end of
// the connection.
type script []struct{ want, answer string }

// play plays a script over a socket pair. The process gets one end of it as PMI_FD.
func (s script) play(t *testing.T, env map[string]string) Config {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(pair[1]), "launcher")
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	joined.Store(false)
	t.Cleanup(func() { joined.Store(false) })
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(testLimit))
		for _, step := range s {
			got := make([]byte, len(step.want))
			if n, err := io.ReadFull(conn, got); err != nil || string(got) != step.want {
				t.Errorf("the launcher got %q, %v; want %q", got[:n], err, step.want)
				return
			}
			for _, b := range []byte(step.answer) { // byte by byte
				conn.Write([]byte{b})
			}
		}
		io.Copy(io.Discard, conn)
	}()
	vars := map[string]string{"PMI_FD": strconv.Itoa(pair[0]), "PMI_RANK": "1", "PMI_SIZE": "2"}
	for k, v := range env {
		vars[k] = v
	}
	return Config{lookup: lookup(vars)}
}

var (
	begin1 = script{
		{"cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
		{"cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
		{"cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n"},
	}
	begin2 = script{
		{"cmd=init pmi_version=2 pmi_subversion=0\n", "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"},
		{"    51cmd=fullinit;pmijobid=1.0;pmirank=1;threaded=FALSE;",
			"114   cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=-1;debugged=FALSE;pmiverbose=FALSE;"},
		{"    14cmd=job-getid;", "38    cmd=job-getid-response;rc=0;jobid=1.0;"},
	}
)

// TestPMI1 runs a whole job with the bytes of hydra.
func TestPMI1(t *testing.T) {
	cfg := append(begin1, script{
		{"cmd=put kvsname=kvs_1 key=gofabric/0/1 value=1:bWU\n", "cmd=put_result rc=0 msg=success\n"},
		{"cmd=barrier_in\n", "cmd=barrier_out\n"},
		{"cmd=get kvsname=kvs_1 key=gofabric/0/0\n", "cmd=get_result rc=0 msg=success value=2:eW\n"},
		{"cmd=get kvsname=kvs_1 key=gofabric/0/0+1\n", "cmd=get_result rc=0 msg=success value=91\n"},
		{"cmd=get kvsname=kvs_1 key=gofabric/0/1\n", "cmd=get_result rc=0 msg=success value=1:bWU\n"},
		{"cmd=get kvsname=kvs_1 key=nope\n", "cmd=get_result rc=-1 msg=key_nope_not_found value=unknown\n"},
		{"cmd=finalize\n", "cmd=finalize_ack\n"},
	}...).play(t, nil)
	play(t, cfg, PMI1, "kvs_1")
	if _, err := Join(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("the second time: %v", err)
	}
}

// TestLongLine: values may be long, but no line is longer than launchers accept. Slurm has the lowest limit.
func TestLongLine(t *testing.T) {
	j, err := Join(testContext(t), append(begin1[:len(begin1):len(begin1)],
		script{{"cmd=finalize\n", "cmd=finalize_ack\n"}}...).play(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	s := j.store.(*pmiStore)
	parts, err := s.limits.Split(make([]byte, 100_000))
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for i, p := range parts {
		line := pmi.V1{}.Append(nil, s.verbs.(*pmi1).putting(pmi.Part(s.limits.Name(strings.Repeat("a",
			s.limits.Key-8)), i), p))
		longest = max(longest, len(line))
	}
	if longest >= maxLine || longest < maxLine-20 {
		t.Errorf("the longest line has %d bytes", longest)
	}
}

// TestPMI2 runs a whole job with the bytes of Slurm.
func TestPMI2(t *testing.T) {
	cfg := append(begin2, script{
		{"    41cmd=kvs-put;key=gofabric/0/1;value=1:bWU;", "26    cmd=kvs-put-response;rc=0;"},
		{"    14cmd=kvs-fence;", "28    cmd=kvs-fence-response;rc=0;"},
		{"    36cmd=kvs-get;jobid=;key=gofabric/0/0;", "48    cmd=kvs-get-response;rc=0;found=TRUE;value=2:eW;"},
		{"    38cmd=kvs-get;jobid=;key=gofabric/0/0+1;", "46    cmd=kvs-get-response;rc=0;found=TRUE;value=91;"},
		{"    36cmd=kvs-get;jobid=;key=gofabric/0/1;", "49    cmd=kvs-get-response;rc=0;found=TRUE;value=1:bWU;"},
		{"    28cmd=kvs-get;jobid=;key=nope;", "38    cmd=kvs-get-response;rc=0;found=FALSE;"},
		{"    13cmd=finalize;", "27    cmd=finalize-response;rc=0;"},
	}...).play(t, map[string]string{"PMI_JOBID": "1.0", "SLURM_JOB_ID": "1"})
	play(t, cfg, PMI2, "1.0")
}

func play(t *testing.T, cfg Config, source, name string) {
	t.Helper()
	ctx := testContext(t)
	j, err := Join(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.Rank() != 1 || j.Size() != 2 || j.Source() != source || j.Name() != name {
		t.Errorf("rank %d of %d, source %s, name %s", j.Rank(), j.Size(), j.Source(), j.Name())
	}
	all, err := j.Exchange(ctx, []byte("me"))
	if err != nil || len(all) != 2 || string(all[0]) != "you" || string(all[1]) != "me" {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := j.Get(ctx, "nope"); !errors.Is(err, ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestBadLauncher: for any answer of a launcher, Join and Fence return, with an error that says what is wrong.
func TestBadLauncher(t *testing.T) {
	for _, c := range []struct {
		name string
		s    script
		env  map[string]string
		err  string
	}{
		{"silence", script{{begin1[0].want, "cmd=resp"}}, nil, "waited for the launcher's answer to init"},
		{"other version", script{{begin1[0].want, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"}},
			nil, "version"},
		{"refuses", script{{begin1[0].want, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"}},
			nil, "rc="},
		{"nonsense", script{{begin1[0].want, "what?\n"}}, nil, "not a message"},
		{"other answer", script{{begin1[0].want, "cmd=maxes\n"}}, nil, "expected"},
		{"no room", append(begin1[:1:1],
			script{{"cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=4 vallen_max=1024\n"}}...), nil, "least"},
		{"huge room", append(begin1[:1:1],
			script{{"cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=99999999999\n"}}...), nil, "vallen_max"},
		{"no rank", nil, map[string]string{"PMI_RANK": "x"}, "PMI_RANK"},
		{"bad rank", append(begin2[:1:1],
			script{{begin2[1].want, "63    cmd=fullinit-response;rc=0;pmi-version=2;rank=2;size=2;appnum=0;"}}...), map[string]string{"PMI_JOBID": "1.0", "SLURM_JOB_ID": "1"}, "rank="},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := c.s.play(t, c.env)
			ctx := testContext(t)
			if c.name == "silence" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
			}
			j, err := Join(ctx, env)
			if err == nil {
				j.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v; want %s", err, c.err)
			}
		})
	}
}

// TestLauncherGone: a fence ends when its context ends, and when the launcher ends. Then the job is over, because an
// answer may still come.
func TestLauncherGone(t *testing.T) {
	cfg := append(begin1[:len(begin1):len(begin1)], script{{"cmd=barrier_in\n", ""}}...).play(t, nil)
	j, err := Join(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := j.Fence(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "barrier_in") {
		t.Error(err)
	}
	if err := j.Fence(t.Context()); !errors.Is(err, ErrJobOver) {
		t.Error(err)
	}
}

// TestDescriptor: a PMI_FD that is not a connection is refused, and its file stays open.
func TestDescriptor(t *testing.T) {
	joined.Store(false)
	defer joined.Store(false)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := strconv.Itoa(int(f.Fd()))
	if _, err = Join(t.Context(), Config{lookup: lookup(map[string]string{"PMI_FD": fd, "PMI_RANK": "0",
		"PMI_SIZE": "1"})}); err == nil || !strings.Contains(err.Error(), "PMI_FD") {
		t.Errorf("/dev/null as the launcher: %v", err)
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("a file of this process was closed: %v", err)
	}
	for _, bad := range []string{"x", "-1", "99999"} {
		joined.Store(false)
		if _, err = Join(t.Context(), Config{lookup: lookup(map[string]string{"PMI_FD": bad, "PMI_RANK": "0",
			"PMI_SIZE": "1"})}); err == nil {
			t.Errorf("PMI_FD=%s was accepted", bad)
		}
	}
}
