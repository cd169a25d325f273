//go:build linux

package dropin

import (
	"context"
	"testing"

	"gofabric/test/program"
	"gofabric/test/veth"
)

// TestLink runs C programs that choose AF_XDP and sockets for their endpoints, at both ends of a veth pair.
func TestLink(t *testing.T) {
	env, link := onOurs(t), compile(t, "link")
	for _, s := range []stack{{"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}} {
		t.Run(s.String(), func(t *testing.T) {
			a, b := veth.Pair(t, veth.Options{Net: 96})
			ctx, cancel := context.WithTimeout(t.Context(), runLimit)
			defer cancel()
			at := func(h, peer *veth.Host, turn string) *program.Program {
				return start(ctx, t, env, "ip", "netns", "exec", h.Name, link, s.provider, s.kind,
					h.V4.String(), peer.V4.String(), turn)
			}
			second := at(b, a, "second")
			second.Expect("ready")
			first := at(a, b, "first")
			for _, p := range []*program.Program{first, second} {
				if err := p.Wait(); err != nil {
					t.Errorf("%v: %v", p.Cmd, err)
				}
			}
		})
	}
}
