package interop

import (
	"testing"

	"gofabric/test/need"
)

// This file tests datagrams. Both ends exchange them without anything of this module on the wire. On the loopback
// interface none are lost as long as the sockets' buffers hold a message or two.

var (
	dgramSizes    = []string{"64", "256", "1k"} // those of the default ones that fit into a datagram
	dgramAllSizes = []string{"0", "1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "96", "128",
		"192", "256", "384", "512", "768", "1k"}
)

// checkDgram is check for DGRAM endpoints. GOFABRIC_MANY adds long runs, because native peers keep a processor busy.
func checkDgram(t *testing.T, peer tool) {
	t.Helper()
	args, rounds := []string{"-p", "udp", "-e", "dgram"}, 50
	if need.Many() {
		rounds = 500
	}
	t.Run("default sizes", func(t *testing.T) { check(t, peer, dgramSizes, rounds, args...) })
	t.Run("the longest", func(t *testing.T) { check(t, peer, []string{"1.4k"}, rounds, append(args, "-S", "1472")...) })
	t.Run("all sizes", func(t *testing.T) { check(t, peer, dgramAllSizes, 10, append(args, "-S", "all")...) })
}

func TestItselfDgram(t *testing.T) {
	t.Parallel()
	checkDgram(t, ofi)
}

func TestDebianDgram(t *testing.T) {
	t.Parallel()
	checkDgram(t, debian(t))
}

func TestNative2Dgram(t *testing.T) {
	t.Parallel()
	checkDgram(t, native2(t))
}
