package udp

import (
	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/internal/endpoint"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

const (
	recvBytes = 64 << 10 // room for any datagram and any run
	batchSize = 16       // datagrams per call when many small ones come
)

// domain is an open domain: the settings and buffers of its ports, and the base of all domains.
type domain struct {
	endpoint.Domain
	s    *settings
	info *core.Info
	prog *progress.Engine

	// Scratch of the ports, guarded by the lock.
	in        [1]netx.Datagram // receive buffer of the ports
	many      *netx.Batch      // receive buffers for many small datagrams; made when first needed
	receiving bool             // in or many is in use: a receiver that polls inside its callback receives nothing
	out       *netx.IOV        // buffers of a send
	separate  *netx.Burst      // datagrams of runs that are sent separately; made when first needed

	xdp      xdpDatapaths // AF_XDP datapaths of the ports; locked
	shmPeers int          // memories that the ports share with other ports of this host; locked
}

var _ datagram.Domain = (*domain)(nil)

// OpenDomain opens a domain (fi_domain(3)).
func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	if info == nil || info.Domain == nil {
		return nil, opError("fi_domain", "", core.ErrInval, "pass an Info from GetInfo")
	}
	prog, err := progress.New(info.Domain.DataProgress != core.ProgressManual)
	if err != nil {
		return nil, opError("fi_domain", info.Domain.Name, err, "descriptors may have run out (ulimit -n)")
	}
	d := &domain{s: f.p.s, info: info.Dup(), prog: prog, out: netx.NewIOV(netx.IOVMax)}
	d.in[0].Buf = make([]byte, recvBytes)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Host: f.p.host, Down: prog.Close})
	return d, nil
}

// batch returns the buffers that receive many datagrams. Locked.
func (d *domain) batch() *netx.Batch {
	if d.many == nil {
		d.many = netx.NewBatch(batchSize, len(d.in[0].Buf))
	}
	return d.many
}

// burst returns the list in which runs are split into datagrams. Locked.
func (d *domain) burst() *netx.Burst {
	if d.separate == nil {
		d.separate = netx.NewBurst(batchSize, netx.IOVMax)
	}
	return d.separate
}

// OpenPort implements datagram.Domain.
func (d *domain) OpenPort(info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	p, err := openPort(d, info, r)
	if err != nil {
		return nil, err // not p, which would be an interface with a nil pointer and not nil
	}
	return p, nil
}

// OpenEndpoint opens a DGRAM endpoint (fi_endpoint(3)).
func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return dgramep.Open(d, &d.Domain, info)
}

// OpenSRX opens a shared receive context (fi_srx_context(3)).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	return dgramep.OpenSRX(&d.Domain, attr)
}
