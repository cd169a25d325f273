package udp

import "gofabric/core"

// Explain says of each interface in Infos of this provider why its datagrams go through sockets, if something faster was asked for (FI_UDP_LINK). To find out, it
// takes what an endpoint would need, and gives it back; nothing is attached to an interface.
func (p *Provider) Explain(found []*core.Info) []core.Refusal {
	if p.s.link != linkXDP && p.s.link != linkAuto {
		return nil
	}
	seen := map[string]bool{}
	var all []core.Refusal
	for _, i := range found {
		for below := i; below != nil; below = below.Below() {
			a := below.SrcAddr.IP.Addr().Unmap()
			if below.Fabric.ProvName != p.Name() || seen[below.Domain.Name] {
				continue
			}
			seen[below.Domain.Name] = true
			if why := probeXDP(a, p.s); why != nil {
				all = append(all, core.Refusal{Provider: p.Name(), Interface: below.Domain.Name, EPType: core.EPTypeDgram, Reason: "sockets are used: " + why.Error()})
			}
		}
	}
	return all
}
