package netx

import "testing"

func BenchmarkRecvNone(b *testing.B) {
	_, s := pair(b)
	buf := make([]byte, 64)
	for b.Loop() {
		Recv(s, buf)
	}
}

func BenchmarkWaitNone(b *testing.B) {
	_, s := pair(b)
	p := newPoller(b)
	must(b, p.Add(s, In, 1))
	evs := make([]Event, 16)
	for b.Loop() {
		p.Wait(evs, 0)
	}
}

// BenchmarkSendRecv sends one message across loopback, with both ends in one thread. disarmed is the additional
// cost of an attached Parker.
func BenchmarkSendRecv(b *testing.B) {
	for _, name := range []string{"plain", "polled", "disarmed"} {
		b.Run(name, func(b *testing.B) {
			c, s := pair(b)
			if name != "plain" {
				p := newPoller(b)
				must(b, p.Add(s, In, 1))
				if name == "disarmed" {
					k := newParker(b)
					must(b, k.Attach(p))
					done := park(k)
					defer func() { k.Wake(); <-done }()
				}
			}
			must(b, SetNoDelay(c, true))
			msg, buf := make([]byte, 64), make([]byte, 64)
			for b.Loop() {
				Send(c, msg, false)
				for n := 0; n == 0; {
					n, _ = Recv(s, buf)
				}
			}
		})
	}
}

func BenchmarkWakeAgain(b *testing.B) {
	k := newParker(b)
	for b.Loop() {
		k.Wake()
	}
}

func BenchmarkSetTimer(b *testing.B) {
	k := newParker(b)
	for b.Loop() {
		k.SetTimer(1 << 40)
	}
}
