//go:build amd64 || arm64

package engine

import (
	"reflect"
	"testing"
)

// TestReceivesAreCacheAligned checks that the matched part of a posted receive fills one cache line, and that its
// size makes the allocator align it to lines.
func TestReceivesAreCacheAligned(t *testing.T) {
	const line = 64
	op := reflect.TypeFor[RxOp]()
	node, _ := op.FieldByName("node")
	if node.Offset%line != 0 || node.Type.Size() != line || op.Size()%line != 0 {
		t.Errorf("a receive has %d bytes, of which %d at %d are matched: not whole lines", op.Size(), node.Type.Size(),
			node.Offset)
	}
}
