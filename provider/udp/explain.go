package udp

import "gofabric/core"

// Explain says of each interface in Infos of this provider why its datagrams go through sockets, if something faster was asked for (FI_UDP_LINK), or how they go then. To
// find out, it takes what an endpoint would need, and gives it back; nothing is attached to an interface.
func (p *Provider) Explain(found []*core.Info) (refused []core.Refusal, taken []core.Remark) {
	if p.s.link != linkXDP && p.s.link != linkAuto {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, i := range found {
		for below := i; below != nil; below = below.Below() {
			a := below.SrcAddr.IP.Addr().Unmap()
			if below.Fabric.ProvName != p.Name() || seen[below.Domain.Name] {
				continue
			}
			seen[below.Domain.Name] = true
			how, err := explainXDP(a, p.s)
			if err != nil {
				refused = append(refused, core.Refusal{Provider: p.Name(), Interface: below.Domain.Name, EPType: core.EPTypeDgram, Reason: "sockets are used: " + err.Error()})
			} else {
				taken = append(taken, core.Remark{Provider: p.Name(), Interface: below.Domain.Name, EPType: core.EPTypeDgram, Text: "AF_XDP is used, " + how})
			}
		}
	}
	return refused, taken
}
