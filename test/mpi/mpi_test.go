package mpi

import (
	"fmt"
	"slices"
	"testing"

	"gofabric/test/need"
)

// stacks are those with reliable datagrams.
var stacks = []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"}

// matrix runs a job over stacks, with two and with four ranks. A short run uses few stacks.
func matrix(t *testing.T, j job, all []string, few ...string) {
	t.Helper()
	for _, stack := range all {
		for _, n := range []int{2, 4} {
			if !need.Many() && (n > 2 || !slices.Contains(few, stack)) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", stack, n), func(t *testing.T) {
				j.stack, j.ranks = stack, n
				j.run(t)
			})
		}
	}
}

func TestPointToPoint(t *testing.T) { matrix(t, job{program: "p2p"}, stacks, stacks...) }

func TestCollectives(t *testing.T) { matrix(t, job{program: "coll"}, stacks, stacks...) }

func TestThreads(t *testing.T) { matrix(t, job{program: "threads"}, stacks, "tcp") }

// TestOneSidedMessages tests one-sided communication that Open MPI implements with messages.
func TestOneSidedMessages(t *testing.T) {
	matrix(t, job{program: "onesided", mca: []string{"osc=pt2pt"}}, stacks, "tcp;ofi_rxm")
}

// TestOneSided tests one-sided communication that Open MPI implements with libfabric's reads, writes and atomics.
func TestOneSided(t *testing.T) {
	matrix(t, job{program: "onesided", args: []string{"fixed", "sums"}, apart: true, btl: "ofi",
		mca: []string{"osc=rdma", "osc_rdma_btls=ofi"}},
		[]string{"tcp", "udp;ofi_rxd"}, "tcp", "udp;ofi_rxd")
}

// TestOneSidedLocked tests accumulations that Open MPI implements with reads and writes under a lock. The lock uses
// libfabric's atomics.
func TestOneSidedLocked(t *testing.T) {
	matrix(t, job{program: "onesided", args: []string{"fixed"}, apart: true, btl: "ofi",
		mca: []string{"osc=rdma", "osc_rdma_btls=ofi", "osc_rdma_acc_use_amo=0"}}, []string{"tcp", "udp;ofi_rxd"})
}
