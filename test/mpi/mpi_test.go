package mpi

import (
	"fmt"
	"slices"
	"testing"

	"gofabric/test/need"
)

// stacks are those with reliable datagrams.
var stacks = []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"}

// matrix runs a job over stacks, of which a short test runs few, and with two ranks and four.
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

// TestOneSidedMessages has one-sided communication made of messages by Open MPI.
func TestOneSidedMessages(t *testing.T) {
	matrix(t, job{program: "onesided", mca: []string{"osc=pt2pt"}}, stacks, "tcp;ofi_rxm")
}

// TestOneSided has it made of libfabric's reads, writes and atomics.
func TestOneSided(t *testing.T) {
	matrix(t, job{program: "onesided", args: []string{"fixed", "sums"}, apart: true, btl: "ofi", mca: []string{"osc=rdma", "osc_rdma_btls=ofi"}},
		[]string{"tcp", "udp;ofi_rxd"}, "tcp", "udp;ofi_rxd")
}

// TestOneSidedLocked has accumulations made of reads and writes under a lock, which itself is made of libfabric's atomics.
func TestOneSidedLocked(t *testing.T) {
	matrix(t, job{program: "onesided", args: []string{"fixed"}, apart: true, btl: "ofi",
		mca: []string{"osc=rdma", "osc_rdma_btls=ofi", "osc_rdma_acc_use_amo=0"}}, []string{"tcp", "udp;ofi_rxd"})
}
