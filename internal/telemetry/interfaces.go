package telemetry

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// interfaces caches the interface of each address.
type interfaces struct {
	mu   sync.Mutex
	at   time.Time
	name map[netip.Addr]string
}

var ifaces interfaces

// interfacesFor is the time for which the cache is valid.
const interfacesFor = 10 * time.Second

// of returns the name of the interface with an endpoint's address. It is "" if no interface has it, or the address
// is the wildcard (0.0.0.0).
func (n *interfaces) of(address string) string {
	a, err := netip.ParseAddrPort(address)
	if err != nil || a.Addr().IsUnspecified() {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.name == nil || time.Since(n.at) > interfacesFor {
		n.read()
	}
	return n.name[a.Addr().Unmap().WithZone("")]
}

func (n *interfaces) read() {
	n.at, n.name = time.Now(), map[netip.Addr]string{}
	list, err := net.Interfaces()
	if err != nil {
		return
	}
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				n.name[p.Addr().Unmap().WithZone("")] = i.Name
			}
		}
	}
}

// name fills in the interfaces. It needs no lock of a domain.
func name(p *Process) {
	for i := range p.Endpoints {
		if e := &p.Endpoints[i]; e.Interface == "" {
			e.Interface = ifaces.of(e.Address)
		}
	}
	for i := range p.Stalls {
		if s := &p.Stalls[i]; s.Interface == "" {
			s.Interface = ifaces.of(s.Local)
		}
	}
}
