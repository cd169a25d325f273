package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/rdmep"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// rdmEndpoint is an RDM endpoint of this provider.
type rdmEndpoint struct {
	rdmep.Endpoint
	d *domain
}

func openRDM(d *domain, info *core.Info) (endpoint.Base, error) {
	ep := &rdmEndpoint{d: d}
	err := ep.Init(rdmep.Config{Domain: &d.Domain, Info: info, Lower: &core.Info{Tx: info.Dup().Tx}, Hint: "see FI_TCP_IFACE and FI_TCP_PORT_LOW_RANGE",
		Protocol: peers.Protocol{Below: d, Conn: d.f.config(max(info.Tx.Size, 1)), Negotiator: (*negotiator)(ep), Patience: d.s.connectTimeout}})
	if err != nil {
		return nil, err
	}
	ep.Opened(ep)
	return ep, nil
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (ep *rdmEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	if opt == core.OptFirewallAddr {
		return ep.d.s.firewallOption(), nil
	}
	return ep.Endpoint.GetOpt(opt)
}

// negotiator writes and reads the private data of connections between RDM endpoints: wire.RDMBlob, which is
// struct xnet_rdm_cm of libfabric's prov/tcp.
type negotiator rdmEndpoint

// blob returns the private data of this endpoint.
func (m *negotiator) blob(version uint8) wire.RDMBlob {
	r := wire.RDMBlob{Version: version, Port: m.Local().Port(), PID: m.ID()}
	if m.d.s.firewall {
		r.Features |= wire.FeatureFirewall
	}
	return r
}

// Ask implements peers.Negotiator.
func (m *negotiator) Ask(_ *peers.Peer, b []byte) []byte { return m.blob(wire.RDMVersion).Append(b) }

// Asked implements peers.Negotiator.
func (m *negotiator) Asked(_ *engine.Conn, data []byte) (peers.Claim, error) {
	r, err := wire.ParseRDMBlob(data)
	return peers.Claim{Port: r.Port, ID: r.PID, Hidden: r.Features&wire.FeatureFirewall != 0}, err
}

// Take implements peers.Negotiator.
func (m *negotiator) Take(_ *peers.Peer, c *engine.Conn, data, b []byte) []byte {
	r, _ := wire.ParseRDMBlob(data) // Asked has checked it
	c.Rendezvous = r.Version >= 1
	answer := m.blob(min(r.Version, wire.RDMVersion))
	answer.Port = r.Port // libfabric echoes the port of the request
	if answer.Version > 0 {
		answer.Version |= wire.RDMVersionFlag
	}
	return answer.Append(b)
}

// Up implements peers.Negotiator.
func (m *negotiator) Up(p *peers.Peer, c *engine.Conn, data []byte) {
	if len(data) == 0 {
		return
	}
	if r, err := wire.ParseRDMBlob(data); err == nil {
		p.SetID(r.PID)
		c.Rendezvous = r.Version&wire.RDMVersionFlag != 0 && r.Version&^wire.RDMVersionFlag >= 1
	}
}

// Refuse implements peers.Negotiator. A refusal in favour of another connection echoes the request, as in
// libfabric.
func (m *negotiator) Refuse(data []byte, crossed bool, b []byte) []byte {
	if r, err := wire.ParseRDMBlob(data); crossed && err == nil {
		return r.Append(b)
	}
	return b
}

// Refused implements peers.Negotiator. Refusals carry no reason, so each may be in favour of another connection.
func (m *negotiator) Refused([]byte) bool { return true }
