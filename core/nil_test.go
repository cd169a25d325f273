package core_test

import (
	"errors"
	"testing"

	"gofabric/core"
	"gofabric/cq"
)

// nilFabric is a fabric whose TryWait is that of the shared queues.
type nilFabric struct{ core.FabricDriver }

func (nilFabric) TryWait(objs ...any) error { return cq.TryWait(objs...) }

// TestTryWaitNil: a nil object is refused like an object that is not a queue.
func TestTryWaitNil(t *testing.T) {
	f := core.NewFabric(nilFabric{})
	for _, o := range []core.Object{(*core.CompletionQueue)(nil), (*core.EventQueue)(nil), (*core.Counter)(nil),
		(*core.WaitSet)(nil)} {
		if err := f.TryWait(o); !errors.Is(err, core.ErrInval) {
			t.Errorf("%T: %v, want ErrInval", o, err)
		}
	}
}
