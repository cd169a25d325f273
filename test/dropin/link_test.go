//go:build linux

package dropin

import (
	"context"
	"strings"
	"testing"
	"time"

	"gofabric/test/cable"
)

// TestLink has C programs choose AF_XDP and sockets for their endpoints, at both ends of a cable.
func TestLink(t *testing.T) {
	env, program := onOurs(t), compile(t, "link")
	for _, s := range []stack{{"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}} {
		t.Run(s.String(), func(t *testing.T) {
			a, b := cable.Pair(t, cable.Options{Net: 96})
			ctx, cancel := context.WithTimeout(t.Context(), runLimit)
			defer cancel()
			at := func(h, peer *cable.Host, turn string) *process {
				return start(ctx, t, env, "ip", "netns", "exec", h.Name, program, s.provider, s.kind, h.V4.String(), peer.V4.String(), turn)
			}
			second := at(b, a, "second")
			for second.running() && !strings.Contains(second.out.String(), "ready") {
				time.Sleep(time.Millisecond)
			}
			first := at(a, b, "first")
			for _, p := range []*process{first, second} {
				<-p.done
				if p.err != nil {
					t.Errorf("%v: %v\n%s", p.cmd.Args, p.err, &p.out)
				}
			}
		})
	}
}
