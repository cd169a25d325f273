package interop

import "testing"

const rxd = "udp;ofi_rxd"

// Reliable datagrams. Both ends exchange native's packets of version 2.

func TestRXDItself(t *testing.T) {
	t.Parallel()
	check(t, ofi, defaultSizes, roundTrips(), "-p", rxd, "-e", "rdm")
}

func TestDebianRXD(t *testing.T) {
	t.Parallel() // at the end native waits for packets that will not arrive
	checkAll(t, debian(t), rxd, "rdm", "msg", "tagged")
}

func TestNative2RXD(t *testing.T) {
	t.Parallel()
	checkAll(t, native2(t), rxd, "rdm", "msg", "tagged")
}
