//go:build amd64 || arm64

package engine

import (
	"reflect"
	"testing"
)

// The part of a posted receive that is matched fills one line of the processor's cache, and the allocator aligns receives to lines, which it does for
// sizes that are multiples of one.
func TestReceivesLieInLines(t *testing.T) {
	const line = 64
	op := reflect.TypeFor[RxOp]()
	node, _ := op.FieldByName("node")
	if node.Offset%line != 0 || node.Type.Size() != line || op.Size()%line != 0 {
		t.Errorf("a receive has %d bytes, of which %d at %d are matched: not whole lines", op.Size(), node.Type.Size(), node.Offset)
	}
}
