//go:build linux

package xdp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestLoanWaits: while one loan waits for a queue that another process has, others get theirs, and questions are answered.
func TestLoanWaits(t *testing.T) {
	a, _ := places(t, 2, 1500)
	a.Enter()
	l, err := Lend("eth9", Config{Mode: Generic})
	must(t, err)
	defer l.Close()
	u, err := newUmem(1, &l.c)
	must(t, err)
	defer u.close()
	other, err := openSocket(u, &l.c, 0, nil)
	must(t, err)
	must(t, unix.Bind(int(other.fd), &unix.SockaddrXDP{Ifindex: uint32(l.index), QueueID: 0}))
	type answer struct {
		o   *Loan
		err error
	}
	waits := make(chan answer, 1)
	go func() {
		a.Enter() // this thread, too
		o, err := l.Loan(1)
		waits <- answer{o, err}
	}()
	until(t, "the first loan", func() bool { return l.Free() == 1 })
	second, err := l.Loan(1)
	must(t, err)
	select {
	case <-waits:
		t.Fatal("the first loan did not wait")
	default:
	}
	if second.queues[0] != 1 {
		t.Errorf("queues %d", second.queues)
	}
	other.close()
	first := <-waits
	must(t, first.err)
	must(t, first.o.Close())
	must(t, second.Close())
	if l.Free() != 2 {
		t.Errorf("%d queues are free", l.Free())
	}
}
