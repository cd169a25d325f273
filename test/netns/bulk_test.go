//go:build linux

package netns

// Commands of a node that exchange messages whose content is checked.

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofabric/core"
	"gofabric/metrics"
	"gofabric/test/conform"
	"gofabric/util/rxd"
)

const (
	depth     = 4 // pending messages
	ctxBulk   = core.OpContext(100)
	ctxCheck  = core.OpContext(200)
	bulkSeed  = 1000 // seed of the first message of a run
	bulkEvery = 16   // the node reports its progress after so many messages
)

// bulk is a run of messages in each direction.
type bulk struct {
	mu       sync.Mutex
	to       core.FIAddr
	out, in  [depth][]byte
	posted   int   // number of messages filled in
	ready    []int // slots whose messages are not sent yet, in order
	sent     int   // number of completed messages
	count    int
	checked  int
	expected int
	size     int
}

// sendBulk starts to send.
func (n *node) sendBulk(fi core.FIAddr, size, count int) error {
	b := &n.bulk
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to, b.posted, b.sent, b.count, b.ready = fi, 0, 0, count, nil
	for slot := range b.out {
		b.out[slot] = make([]byte, size)
		if err := n.sendNext(slot); err != nil {
			return err
		}
	}
	return nil
}

// sendNext sends the next message of the run from a slot that is free.
func (n *node) sendNext(slot int) error {
	b := &n.bulk
	if b.posted == b.count {
		return nil
	}
	conform.Fill(b.out[slot], uint64(bulkSeed+b.posted))
	b.posted++
	b.ready = append(b.ready, slot)
	return n.post()
}

// post sends the messages that are ready. What finds no room is tried again later, because no event shows when there
// is room (FI_EAGAIN in fi_msg(3)). Locked.
func (n *node) post() error {
	b := &n.bulk
	for len(b.ready) > 0 {
		slot := b.ready[0]
		err := n.ep.Send(b.out[slot], 0, b.to, ctxBulk+core.OpContext(slot))
		if errors.Is(err, core.ErrAgain) {
			time.AfterFunc(200*time.Microsecond, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				if err := n.post(); err != nil {
					n.say("STOP %v", err)
				}
			})
			return nil
		}
		b.ready = b.ready[1:]
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBulk starts to receive. Messages arrive in the order of the receives.
func (n *node) checkBulk(size, count int) error {
	b := &n.bulk
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checked, b.expected, b.size = 0, count, size
	for slot := range b.in {
		b.in[slot] = make([]byte, size)
		if err := n.ep.Recv(b.in[slot], 0, core.AddrUnspec, ctxCheck+core.OpContext(slot)); err != nil {
			return err
		}
	}
	return nil
}

// bulkCompleted continues a run after a completion.
func (n *node) bulkCompleted(e core.CQEntry) {
	b := &n.bulk
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Ctx < ctxCheck {
		if err := n.sendNext(int(e.Ctx - ctxBulk)); err != nil {
			n.say("STOP %v", err)
		}
		if b.sent++; b.sent == b.count {
			n.say("BULK %d", b.sent)
		}
		return
	}
	slot := int(e.Ctx - ctxCheck)
	if b.checked >= b.expected {
		return
	}
	if want := conform.Pattern(b.size, uint64(bulkSeed+b.checked)); e.Len != b.size ||
		!bytes.Equal(b.in[slot][:e.Len], want) {
		n.say("FAIL message %d: %d bytes, or the content is wrong", b.checked, e.Len)
		return
	}
	b.checked++
	if b.checked%bulkEvery == 0 {
		n.say("GOOD %d", b.checked)
	}
	if b.checked == b.expected {
		n.say("CHECKED %d", b.checked)
	}
	if b.checked+depth <= b.expected {
		if err := n.ep.Recv(b.in[slot], 0, core.AddrUnspec, e.Ctx); err != nil {
			n.say("STOP %v", err)
		}
	}
}

// metric returns the sum of a metric of this process, as Prometheus would get it.
func metric(name string) (string, error) {
	text := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(text, httptest.NewRequest("GET", "/metrics", nil))
	sum := 0.0
	for line := range strings.Lines(text.Body.String()) {
		if f := strings.Fields(line); strings.HasPrefix(line, name+"{") {
			v, err := strconv.ParseFloat(f[len(f)-1], 64)
			if err != nil {
				return "", err
			}
			sum += v
		}
	}
	return fmt.Sprint(sum), nil
}

// stats returns the counts of an endpoint of rxd.
func (n *node) stats() (string, error) {
	s, ok := rxd.StatsOf(n.ep.Driver())
	if !ok {
		return "", fmt.Errorf("the endpoint is not one of rxd")
	}
	return fmt.Sprintf("%+v", s), nil
}
