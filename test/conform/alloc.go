package conform

// Operations in steady state must not allocate.

import (
	"fmt"
	"testing"
	"time"

	"gofabric/core"
)

// frugal is a pair whose queues are read without allocating.
type frugal struct {
	*Pair
	got  [32]core.CQEntry
	err  core.CQErrEntry
	fail error
}

// run makes a side's post, and waits for the given numbers of completions at that side and the other.
func (f *frugal) run(post func() error, wantA, wantB int) {
	if f.fail != nil {
		return
	}
	for n := 0; ; n++ {
		err := post()
		if err == nil {
			break
		}
		if err != core.ErrAgain || n > 1e7 {
			f.fail = err
			return
		}
		wantA -= f.read(f.A.TxCQ)
		wantB -= f.read(f.B.TxCQ)
	}
	var end time.Time
	for n := 0; wantA > 0 || wantB > 0; n++ {
		wantA -= f.read(f.A.TxCQ)
		wantB -= f.read(f.B.TxCQ)
		if n%1000 != 999 {
			continue
		}
		now := time.Now()
		if end.IsZero() {
			end = now.Add(Deadline)
		} else if now.After(end) {
			f.fail = core.ErrTimedOut
			return
		}
	}
}

// read reads a queue. Completions from unknown sources count, too.
func (f *frugal) read(q *core.CompletionQueue) int {
	n, err := q.Read(f.got[:])
	switch err {
	case nil, core.ErrAgain:
		return max(n, 0)
	case core.ErrAvail:
		if err = q.ReadErr(&f.err); err == nil && f.err.Err == core.ErrAddrNotAvail {
			return 1
		}
		if err == nil {
			err = f.err.Err
		}
	}
	f.fail = err
	return 0
}

// NoAllocation runs operations of every kind over st, from post to completion at both ends, and fails the test if one
// allocates.
func NoAllocation(t *testing.T, st Stack) {
	const all = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | core.CapMultiRecv | core.CapTaggedMultiRecv
	t.Run("known", func(t *testing.T) {
		f := &frugal{Pair: Open(t, st, WithCaps(all))}
		f.messages(offersLevel(t, st, core.OpMatchComplete), offersLevel(t, st, core.OpCommitComplete))
		f.memory(offersLevel(t, st, core.OpCommitComplete))
	})
	t.Run("unknown", func(t *testing.T) {
		f := &frugal{Pair: Open(t, st, WithCaps(all|core.CapSource|core.CapSourceErr), WithoutPeer())}
		f.messages(false, false)
	})
}

// none runs op, which completes at both ends, for a while, and then counts its allocations.
func (f *frugal) none(name string, size int, op func()) {
	t := f.T.(*testing.T)
	t.Helper()
	for range 50 { // connects, and fills the pools
		if op(); f.fail != nil {
			t.Fatalf("%s of %d bytes: %v", name, size, f.fail)
		}
	}
	n := testing.AllocsPerRun(100, op)
	if f.fail != nil {
		t.Fatalf("%s of %d bytes: %v", name, size, f.fail)
	}
	if n != 0 {
		t.Errorf("%s of %d bytes: %v allocations per operation", name, size, n)
	}
}

func (f *frugal) messages(match, commit bool) {
	a, rx := f.A, f.B.Rx()
	f.B.ok("SetOpt", rx.SetOpt(core.OptMinMultiRecv, 1))
	for _, size := range []int{0, 64, 4096, 65536, 1 << 20} {
		buf, in := make([]byte, size), make([]byte, size)
		msg := &core.MsgArgs{IOV: [][]byte{buf}, Addr: a.Peer, Ctx: 1}
		tmsg := &core.TaggedArgs{IOV: [][]byte{buf}, Addr: a.Peer, Tag: 7, Ctx: 1}
		send := func() error { return a.EP.Send(buf, 0, a.Peer, 1) }
		f.none("send", size, func() {
			f.fail = rx.Recv(in, 0, core.AddrUnspec, 2)
			f.run(send, 1, 1)
		})
		tsend := func() error { return a.EP.TSend(buf, 0, a.Peer, 7, 1) }
		f.none("tsend", size, func() {
			f.fail = rx.TRecv(in, 0, core.AddrUnspec, 7, 0, 2)
			f.run(tsend, 1, 1)
		})
		f.multi(size)
		levels := map[string]core.OpFlags{"delivery complete": core.OpDeliveryComplete}
		if match {
			levels["match complete"] = core.OpMatchComplete
		}
		if commit {
			levels["commit complete"] = core.OpCommitComplete
		}
		for name, level := range levels {
			post := func() error { return a.EP.SendMsg(msg, level|core.OpCompletion) }
			f.none("send, "+name, size, func() {
				f.fail = rx.Recv(in, 0, core.AddrUnspec, 2)
				f.run(post, 1, 1)
			})
			post = func() error { return a.EP.TSendMsg(tmsg, level|core.OpCompletion) }
			f.none("tsend, "+name, size, func() {
				f.fail = rx.TRecv(in, 0, core.AddrUnspec, 7, 0, 2)
				f.run(post, 1, 1)
			})
		}
	}
}

// multi sends messages into a multi-receive buffer that takes two and is then posted again.
func (f *frugal) multi(size int) {
	if size == 0 {
		return // messages of this size would never fill it
	}
	a, rx := f.A, f.B.Rx()
	buf, in := make([]byte, size), make([]byte, 2*size)
	msg := &core.MsgArgs{IOV: [][]byte{in}, Addr: core.AddrUnspec, Ctx: 2}
	tmsg := &core.TaggedArgs{IOV: [][]byte{in}, Addr: core.AddrUnspec, Tag: 8, Ctx: 2}
	send := func() error { return a.EP.Send(buf, 0, a.Peer, 1) }
	f.none("multi-receive", size, func() {
		f.fail = rx.RecvMsg(msg, core.OpMultiRecv|core.OpCompletion)
		f.run(send, 1, 1)
		f.run(send, 1, 1)
	})
	tsend := func() error { return a.EP.TSend(buf, 0, a.Peer, 8, 1) }
	f.none("tagged multi-receive", size, func() {
		f.fail = rx.TRecvMsg(tmsg, core.OpMultiRecv|core.OpCompletion)
		f.run(tsend, 1, 1)
		f.run(tsend, 1, 1)
	})
}

func (f *frugal) memory(commit bool) {
	a := f.A
	mr := f.B.Reg(make([]byte, 1<<20), allAccess)
	defer mr.Close()
	for _, size := range []int{64, 4096, 65536, 1 << 20} {
		buf, in := make([]byte, size), make([]byte, size)
		write := func() error { return a.EP.Write(buf, 0, a.Peer, mr.Base(), mr.Key(), 1) }
		f.none("write", size, func() { f.run(write, 1, 0) })
		read := func() error { return a.EP.Read(in, 0, a.Peer, mr.Base(), mr.Key(), 1) }
		f.none("read", size, func() { f.run(read, 1, 0) })
		data := func() error { return a.EP.WriteData(buf, 0, 5, a.Peer, mr.Base(), mr.Key(), 1) }
		f.none("writedata", size, func() { f.run(data, 1, 1) })
		if commit {
			m := &core.RMAArgs{IOV: [][]byte{buf}, Addr: a.Peer, RMAIOV: riov(mr.Base(), mr.Key(), size, 1), Ctx: 1}
			post := func() error { return a.EP.WriteMsg(m, core.OpCommitComplete|core.OpCompletion) }
			f.none("write, commit complete", size, func() { f.run(post, 1, 0) })
		}
	}
	for _, size := range []int{8, 256, 4096} {
		buf, in, cmp := make([]byte, size), make([]byte, size), make([]byte, size)
		for _, dt := range []core.Datatype{core.Uint64, core.Double} {
			m := &core.AtomicArgs{IOV: [][]byte{buf}, Addr: a.Peer,
				RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: size / 8, Key: mr.Key()}},
				Type:   dt, Op: core.AtomicSum, Ctx: 1}
			result, compare := [][]byte{in}, [][]byte{cmp}
			atomic := func() error { return a.EP.Atomic(m, core.OpCompletion) }
			f.none(fmt.Sprint("atomic ", dt), size, func() { f.run(atomic, 1, 0) })
			fetch := func() error { return a.EP.FetchAtomic(m, result, nil, core.OpCompletion) }
			f.none(fmt.Sprint("fetch ", dt), size, func() { f.run(fetch, 1, 0) })
			swap := *m
			swap.Op = core.AtomicCSwapLE
			comp := func() error { return a.EP.CompareAtomic(&swap, compare, nil, result, nil, core.OpCompletion) }
			f.none(fmt.Sprint("compare ", dt), size, func() { f.run(comp, 1, 0) })
		}
	}
}
