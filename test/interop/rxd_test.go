package interop

import "testing"

const rxd = "udp;ofi_rxd"

// Reliable datagrams: each end speaks native's packets of version 2 with the other.

func TestRXDItself(t *testing.T) {
	t.Parallel()
	check(t, ofi, defaultSizes, 10, "-p", rxd, "-e", "rdm")
}

func TestDebianRXD(t *testing.T) {
	t.Parallel() // at its end, native waits for what cannot come any more
	checkAll(t, debian(t), rxd, "rdm", "msg", "tagged")
}

func TestNative2RXD(t *testing.T) {
	t.Parallel()
	checkAll(t, native2(t), rxd, "rdm", "msg", "tagged")
}
