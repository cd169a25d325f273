package core

import "net/netip"

// Addr is a transport address, as fi_getname(3) returns it and fi_av_insert(3) takes it. The zero Addr means
// "none". Addr is comparable.
//
// Its text form is libfabric's: fi_sockaddr_in://1.2.3.4:7471, fi_sockaddr_in6://[::1]:7471, or the text in Str,
// which has a scheme of its own.
type Addr struct {
	Format AddrFormat
	IP     netip.AddrPort // the address, for the sockaddr formats
	Str    string         // the address, for FormatStr
}

// IPAddr returns the Addr of an IPv4 or IPv6 address and port. An IPv4 address mapped into IPv6 becomes IPv4.
func IPAddr(ap netip.AddrPort) Addr {
	ip := ap.Addr().Unmap()
	f := FormatSockaddrIn6
	if ip.Is4() {
		f = FormatSockaddrIn
	}
	return Addr{Format: f, IP: netip.AddrPortFrom(ip, ap.Port())}
}

// IsZero reports whether a is no address.
func (a Addr) IsZero() bool { return a == Addr{} }
