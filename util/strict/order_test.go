package strict

import (
	"errors"
	"testing"

	"gofabric/core"
	"gofabric/util/hook"
)

// TestPromised checks which operations must stay behind the one before (fi_endpoint(3), msg_order).
func TestPromised(t *testing.T) {
	const elsewhere = 9
	for _, c := range []struct {
		name          string
		order         core.Order
		first, second core.Op
		want          bool
	}{
		{"sends without order", 0, core.Op{Call: core.CallSend}, core.Op{Call: core.CallSend}, false},
		{"sends in order", core.OrderSAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallTSend}, true},
		{"to different peers", core.OrderSAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallSend, Addr: elsewhere}, false},
		{"a write after a send", core.OrderSAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallWrite}, false},
		{"a write after a send, in order", core.OrderWAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallWrite}, true},
		{"an atomic after a send, in order", core.OrderWAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallAtomicMsg}, true},
		{"a read after a send", core.OrderWAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallRead}, false},
		{"a read after a send, in order", core.OrderRAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallRead}, true},
		{"a fetch after a send, in order", core.OrderRAS, core.Op{Call: core.CallSend}, core.Op{Call: core.CallFetchAtomicMsg}, true},
		{"a send after RMA", 0, core.Op{Call: core.CallWrite}, core.Op{Call: core.CallSend}, true},
		{"a send after RMA to another peer", 0, core.Op{Call: core.CallWrite}, core.Op{Call: core.CallSend, Addr: elsewhere}, false},
	} {
		s := &state{info: core.NewHints()}
		s.info.Tx.MsgOrder = c.order
		if got := s.promised(&transfer{Op: c.first}, &transfer{Op: c.second}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMayHold: a transmit is held only if the application cannot notice it.
func TestMayHold(t *testing.T) {
	for _, c := range []struct {
		name     string
		progress core.Progress
		typ      core.EPType
		call     core.Call
		flags    core.OpFlags
		tracked  bool
		want     bool
	}{
		{"a send", core.ProgressManual, core.EPTypeRDM, core.CallSend, 0, true, true},
		{"with automatic progress", core.ProgressAuto, core.EPTypeRDM, core.CallSend, 0, true, false},
		{"of a connected endpoint", core.ProgressManual, core.EPTypeMsg, core.CallSend, 0, true, false},
		{"without a completion", core.ProgressManual, core.EPTypeRDM, core.CallSend, 0, false, false},
		{"a write", core.ProgressManual, core.EPTypeRDM, core.CallWrite, 0, true, false},
		{"injected", core.ProgressManual, core.EPTypeRDM, core.CallSendMsg, core.OpInject, true, false},
		{"fenced", core.ProgressManual, core.EPTypeRDM, core.CallSendMsg, core.OpFence, true, false},
	} {
		s := &state{info: core.NewHints()}
		s.info.Domain.DataProgress, s.info.EP.Type = c.progress, c.typ
		if got := s.mayHold(&transfer{Op: core.Op{Call: c.call}, flags: c.flags, tracked: c.tracked}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRefusedLate: an operation that was accepted, and fails when it is posted, ends with an error entry in its
// queue. An operation for which there is no room stays.
func TestRefusedLate(t *testing.T) {
	for _, c := range []struct {
		full error
		held bool
		want core.Errno
	}{{core.ErrAgain, true, 0}, {core.ErrHostUnreach, false, core.ErrHostUnreach}, {&core.OpError{Err: core.ErrInval}, false, core.ErrInval}, {errors.New("other"), false, core.ErrIO}} {
		b := newBelow(t, Kind{})
		e, f := b.over()
		e.s.tx.q = &queue{d: b.d, CQ: hook.CQ{CQDriver: &list{}}}
		f.full = c.full
		b.hold(e)
		e.s.held.Ctx = 5
		e.s.release()
		if held := e.s.held != nil; held != c.held {
			t.Errorf("%v: held %v", c.full, held)
		}
		var ee core.CQErrEntry
		err := e.s.tx.q.ReadErr(&ee)
		if told := err == nil; told == c.held || told && (ee.Err != c.want || ee.Ctx != 5) {
			t.Errorf("%v: %+v, %v", c.full, ee, err)
		}
	}
}
