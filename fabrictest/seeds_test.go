package fabrictest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/fabrictest"
)

// TestSeeds sends messages in both directions over bad networks, with many seeds.
func TestSeeds(t *testing.T) {
	const seeds = 40
	for name, f := range map[string]fabrictest.Faults{
		"loss":    {Loss: 0.1},
		"reorder": {Dup: 0.1, Reorder: 0.1, Jitter: 100 * time.Microsecond},
		"all":     {Loss: 0.3, Dup: 0.1, Reorder: 0.1, Jitter: 100 * time.Microsecond, Delay: 5 * time.Millisecond},
	} {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprintf("%s-%d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					net := fabrictest.New(t, 2, fabrictest.Config{Seed: seed, Faults: f})
					if text := both(t, net); text != "" {
						t.Error(text)
					}
				})
			})
		}
	}
}

// both has two nodes send to each other, and returns a description of all errors.
func both(t *testing.T, net *fabrictest.Fabric) (text string) {
	const messages = 20
	e := []*rdm{openRDM(t, net.Node(0), "mem;ofi_rxd"), openRDM(t, net.Node(1), "mem;ofi_rxd")}
	bufs := [2][messages][]byte{}
	for k, r := range e {
		r.know(t, 2)
		for i := range messages {
			bufs[k][i] = make([]byte, 5000)
			r.ep.Recv(bufs[k][i], 0, core.AddrUnspec, core.OpContext(1000+i))
		}
	}
	for i := range messages {
		for k, r := range e {
			msg := make([]byte, 3000)
			binary.LittleEndian.PutUint32(msg, uint32(i))
			for {
				if err := r.ep.Send(msg, 0, r.to[1-k], core.OpContext(i)); err != core.ErrAgain {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for k, r := range e {
		next := 0
		for done := 0; done < 2*messages; {
			var c [1]core.CQEntry
			n, err := r.cq.SRead(ctx, c[:])
			if ctx.Err() != nil {
				text += fmt.Sprintf("node %d: %d of %d completions; ", k, done, 2*messages)
				break
			}
			if n == 0 {
				if err != core.ErrAgain {
					text += fmt.Sprintf("node %d: %v; ", k, err)
					break
				}
				continue
			}
			done++
			if c[0].Ctx >= 1000 {
				i := int(c[0].Ctx) - 1000
				if got := binary.LittleEndian.Uint32(bufs[k][i]); i != next || got != uint32(i) || c[0].Len != 3000 {
					text += fmt.Sprintf("node %d: receive %d has message %d; ", k, i, got)
				}
				next++
			}
		}
	}
	for _, r := range e {
		r.close(t)
	}
	return text
}
