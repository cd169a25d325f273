package udp

import "gofabric/core"

// Explain describes, for each interface in Infos of this provider, how its datagrams go, or why they go through
// sockets although FI_UDP_LINK asks for a faster datapath. To find out, it acquires the resources that an endpoint
// would need, and frees them. It attaches nothing to an interface.
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
