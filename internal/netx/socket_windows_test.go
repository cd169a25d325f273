package netx

import (
	"syscall"
	"testing"
)

// TestDSCP: a traffic class is refused, and class 0 is accepted.
func TestDSCP(t *testing.T) {
	c, _ := pair(t)
	must(t, SetDSCP(c, 0))
	if err := SetDSCP(c, 0x20); err != syscall.EOPNOTSUPP {
		t.Errorf("a traffic class: %v, want EOPNOTSUPP", err)
	}
}
