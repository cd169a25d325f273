package flow

import (
	"reflect"
	"testing"
)

// TestSize limits the memory of an idle peer.
func TestSize(t *testing.T) {
	if n := reflect.TypeFor[Flow]().Size(); n > 480 {
		t.Errorf("a Flow has %d bytes, more than 480", n)
	} else {
		t.Logf("Flow %d, segment %d, sender %d bytes",
			n, reflect.TypeFor[segment]().Size(), reflect.TypeFor[sender]().Size())
	}
}
