package boot

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/test/need"
	"gofabric/test/program"
)

// TestSlurm starts four processes with srun --mpi=pmi2. The test starts and ends a Slurm of one node.
func TestSlurm(t *testing.T) {
	t.Parallel()
	need.Root(t, "slurmd, which starts programs of other users,")
	need.Programs(t, "slurmctld slurmd slurm-client munge", "slurmctld", "slurmd", "srun", "munged")
	conf := startSlurm(t)
	env := clean("SLURM_CONF=" + conf)
	for _, provider := range []string{"tcp", "udp;ofi_rxd"} {
		t.Run(provider, func(t *testing.T) {
			run(t, env, "srun", "--mpi=pmi2", "-n", "4", rankPath(t), "-provider",
				provider).wantAll(t, 4, "pmi2", provider)
		})
	}
	t.Run("version 1", func(t *testing.T) {
		run(t, env, "srun", "--mpi=pmi2", "-n", "4", rankPath(t), "-from", "pmi1").wantAll(t, 4, "pmi1", "tcp")
	})
	t.Run("dies", func(t *testing.T) {
		r := run(t, env, "srun", "--mpi=pmi2", "--kill-on-bad-exit=1", "-n", "4", rankPath(t), "-die", "2")
		if r.code == 0 || strings.Contains(r.out, ": ok") {
			t.Errorf("exit status %d:\n%s", r.code, r.out)
		}
	})
	t.Run("without PMI", func(t *testing.T) {
		meet := "GOFABRIC_ROOT=" + program.FreeAddress(t)
		run(t, append(env, meet), "srun", "--mpi=none", "-n", "4", rankPath(t)).wantAll(t, 4, "tcp", "tcp")
	})
}

// startSlurm starts munge, slurmctld and slurmd in a folder of the test and returns their configuration. munge gets
// --force, because it refuses folders below one that other users may write to.
func startSlurm(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "slurm") // not t.TempDir, whose name may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // munged requires it
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	key := make([]byte, 1024)
	rand.Read(key)
	write(t, filepath.Join(dir, "munge.key"), string(key))
	socket := filepath.Join(dir, "munge.sock")
	munged := daemon(t, nil, "munged", "--foreground", "--force", "--key-file="+filepath.Join(dir, "munge.key"),
		"--socket="+socket, "--pid-file="+filepath.Join(dir, "munged.pid"),
		"--log-file="+filepath.Join(dir, "munged.log"), "--seed-file="+filepath.Join(dir, "munge.seed"))
	munged.Until("munged has its socket", func() bool { _, err := os.Stat(socket); return err == nil })
	conf := filepath.Join(dir, "slurm.conf")
	at := program.FreeAddresses(t, 2)
	_, ctlPort, _ := strings.Cut(at[0], ":")
	_, dPort, _ := strings.Cut(at[1], ":")
	write(t, conf, slurmConf(dir, host, ctlPort, dPort))
	// The plugin for version 2 needs systemd, although nothing here uses it.
	write(t, filepath.Join(dir, "cgroup.conf"), "CgroupPlugin=cgroup/v1\n")
	env := clean("SLURM_CONF=" + conf)
	for _, sub := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	daemon(t, env, "slurmctld", "-D", "-f", conf)
	slurmd := daemon(t, env, "slurmd", "-D", "-f", conf)
	slurmd.Until("slurmd's node is idle", func() bool {
		cmd := exec.CommandContext(t.Context(), "sinfo", "-h", "-o", "%T")
		cmd.Env = env
		out, err := cmd.Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	})
	return conf
}

func slurmConf(dir, host, ctlPort, dPort string) string {
	return fmt.Sprintf(`ClusterName=gofabric
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]s
SlurmdPort=%[4]s
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.sock
CredType=cred/munge
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=p Nodes=%[2]s Default=YES MaxTime=INFINITE State=UP
`, dir, host, ctlPort, dPort)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
