package mpi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// job is a program, and the way in which mpirun runs it.
type job struct {
	program string
	args    []string
	stack   string
	ranks   int
	apart   bool     // each rank has a host name of its own
	btl     string   // the components for one-sided communication, in addition to self
	mca     []string // more parameters of Open MPI, name=value
}

const jobTimeout = 90 * time.Second

// run runs a job. It fails the test unless all ranks report success, on our library and the requested stack.
func (j job) run(t *testing.T) {
	t.Helper()
	needOpenMPI(t)
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun", j.arguments(t)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = j.environment(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // on SIGTERM mpirun ends its ranks
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		t.Fatalf("%s did not end within %v:\n%s", j.program, jobTimeout, out.Bytes())
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", j.program, err, out.Bytes())
	}
	text := out.String()
	if strings.Count(text, "ok\n") != 1 {
		t.Errorf("%s did not print ok:\n%s", j.program, text)
	}
	if n := strings.Count(text, "mtl:ofi:prov: "+j.stack+"\n"); n != j.ranks {
		t.Errorf("%d of %d ranks use %s:\n%s", n, j.ranks, j.stack, text)
	}
}

// arguments returns the arguments of mpirun.
func (j job) arguments(t *testing.T) []string {
	btl := "self"
	if j.btl != "" {
		btl += "," + j.btl
	}
	args := []string{"-n", strconv.Itoa(j.ranks), "-x", "LD_LIBRARY_PATH", "-x", "FABRIC_LIBRARY"}
	mca := []string{
		"pml=cm", "mtl=ofi", "btl=" + btl, "coll=^sm", // all communication uses libfabric
		"opal_common_ofi_provider_include=" + j.stack, "opal_common_ofi_verbose=1",
		"memory=^patcher",       // the patcher writes into libc's code while other threads run it (docs/c-programs.md)
		"mpi_yield_when_idle=1", // there are more ranks than processors, so waiting ranks must yield
	}
	if j.apart {
		rsh, err := filepath.Abs("testdata/rsh")
		must(t, rsh, err)
		hosts := make([]string, j.ranks)
		for i := range hosts {
			hosts[i] = fmt.Sprintf("node%d:1", i)
		}
		args = append(args, "--host", strings.Join(hosts, ","))
		mca = append(mca, "plm_rsh_agent=sh "+rsh, "hwloc_base_binding_policy=none")
	} else {
		args = append(args, "--oversubscribe", "--bind-to", "none")
	}
	for _, m := range append(mca, j.mca...) {
		name, value, _ := strings.Cut(m, "=")
		args = append(args, "--mca", name, value)
	}
	path, err := program(j.program)
	return append(append(args, must(t, path, err)), j.args...)
}

// environment returns the environment of mpirun and of the ranks.
func (j job) environment(t *testing.T) []string {
	lib, err := library()
	must(t, lib, err)
	env := append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(lib), "FABRIC_LIBRARY="+lib,
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1") // as in containers
	if j.apart {
		path, err := node()
		env = append(env, "NODE_LIBRARY="+must(t, path, err))
	}
	return env
}
