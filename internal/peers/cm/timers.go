package cm

import (
	"container/heap"

	"gofabric/internal/mono"
)

// timers are the connections with a deadline, the earliest first. It implements heap.Interface.
type timers []*Conn

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].deadline < t[j].deadline }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timerPos, t[j].timerPos = int32(i), int32(j)
}

func (t *timers) Push(x any) {
	c := x.(*Conn)
	c.timerPos = int32(len(*t))
	*t = append(*t, c)
}

func (t *timers) Pop() any {
	old := *t
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	c.timerPos = -1
	return c
}

// first is the earliest deadline, None if there is none.
func (t timers) first() mono.Time {
	if len(t) == 0 {
		return mono.None
	}
	return t[0].deadline
}

// setDeadline has Tick look at c then; None: no more.
func (m *Machine) setDeadline(c *Conn, at mono.Time) {
	if c.timerPos >= 0 {
		heap.Remove(&m.timers, int(c.timerPos))
	}
	if c.deadline = at; at != mono.None {
		heap.Push(&m.timers, c)
	}
}
