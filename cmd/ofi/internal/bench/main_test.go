package bench

import (
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofabric"
	_ "gofabric/all"
)

// The test binary is its own peer: with peerVar in its environment it is the other process.

const peerVar = "GOFABRIC_BENCH_PEER"

var testProviders = Providers{GetInfo: gofabric.GetInfo, OpenFabric: gofabric.OpenFabric}

func TestMain(m *testing.M) {
	switch os.Getenv(peerVar) {
	case "obey":
		if Peer(testProviders, os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "hang":
		time.Sleep(time.Hour) // the runtime ends a program without cgo in which no goroutine can run
	case "listen": // listens for a while at the port after -B
		l, err := net.Listen("tcp", net.JoinHostPort(node, os.Args[slices.Index(os.Args, "-B")+1]))
		if err == nil {
			time.Sleep(30 * time.Second)
			l.Close()
		}
		os.Exit(0)
	case "die":
		os.Stderr.WriteString("no more strength")
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}

// peerThat returns a function that makes the command of a peer that obeys, hangs or dies.
func peerThat(does string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), peerVar+"="+does)
		return cmd
	}
}
