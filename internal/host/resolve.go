package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"gofabric/core"
)

// maxName is the length of the longest name in DNS. Longer names are not looked up.
const maxName = 255

// Resolve returns the addresses of node and service, as getaddrinfo(3) does for a stream socket. numeric forbids
// look-ups. An empty node is the wildcard address if passive, otherwise the loopback address. If a look-up took too
// long, the error says so.
func (h *Host) Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error) {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if scheme, name, ok := strings.Cut(node, "://"); ok {
		list, err := h.schemed(ctx, scheme, name, service, numeric)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, tookTooLong(node, timeout)
		}
		return list, err
	}
	port, err := h.port(ctx, service, numeric)
	if err != nil {
		return nil, err
	}
	addrs, err := h.addrs(ctx, node, numeric, passive)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, tookTooLong(node, timeout)
	}
	if err != nil {
		return nil, err
	}
	list := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		list[i] = netip.AddrPortFrom(a.Unmap(), port)
	}
	return list, nil
}

func tookTooLong(node string, timeout time.Duration) error {
	return fmt.Errorf("looking up %.128q took longer than %v: %w", node, timeout, core.ErrTimedOut)
}

// schemed looks up a name with a scheme. The addresses that it stands for have ports.
func (h *Host) schemed(ctx context.Context, scheme, name, service string, numeric bool) ([]netip.AddrPort, error) {
	lookup := h.Schemes[strings.ToLower(scheme)]
	switch {
	case lookup == nil:
		return nil, fmt.Errorf("%.64q is not a known kind of address: %w", scheme+"://", core.ErrInval)
	case numeric:
		return nil, fmt.Errorf("%.128q is a name, but a numeric address is required: %w", name, core.ErrInval)
	case service != "":
		return nil, fmt.Errorf("%s://%.128s contains a port, so the service %.64q must be left out: %w", scheme, name, service, core.ErrInval)
	case name == "":
		return nil, fmt.Errorf("%s:// has no name after it: %w", scheme, core.ErrInval)
	}
	return lookup(ctx, name)
}

func (h *Host) resolver() *net.Resolver {
	if h.Resolver != nil {
		return h.Resolver
	}
	return net.DefaultResolver
}

func (h *Host) port(ctx context.Context, service string, numeric bool) (uint16, error) {
	if service == "" {
		return 0, nil
	}
	if strings.Trim(service, "0123456789") == "" {
		n, err := strconv.ParseUint(service, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("port %q is not between 0 and 65535: %w", service, core.ErrInval)
		}
		return uint16(n), nil
	}
	if numeric || unfit(service) {
		return 0, fmt.Errorf("service %q is not a port number: %w", service, core.ErrInval)
	}
	n, err := h.resolver().LookupPort(ctx, "tcp", service)
	if err != nil || n < 0 || n > 65535 {
		return 0, fmt.Errorf("service %q is unknown on this host: %w", service, core.ErrNoData)
	}
	return uint16(n), nil
}

func (h *Host) addrs(ctx context.Context, node string, numeric, passive bool) ([]netip.Addr, error) {
	switch {
	case node == "" && passive:
		return []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}, nil
	case node == "":
		return h.loopback(), nil
	}
	literal := node
	if inner, ok := strings.CutPrefix(node, "["); ok {
		literal, _ = strings.CutSuffix(inner, "]")
	}
	if len(literal) <= maxName {
		if a, err := netip.ParseAddr(literal); err == nil {
			return []netip.Addr{a}, nil
		}
	}
	if numeric || unfit(node) {
		return nil, fmt.Errorf("%.64q is not an IP address: %w", node, core.ErrInval)
	}
	addrs, err := h.resolver().LookupNetIP(ctx, "ip", node)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, core.ErrNoData)
	}
	return addrs, nil
}

// loopback returns the loopback addresses that this machine has, IPv6 first as getaddrinfo(3) does.
func (h *Host) loopback() []netip.Addr {
	v4 := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	list, err := h.Interfaces()
	if err == nil {
		for _, i := range list {
			if i.Addr == netip.IPv6Loopback() {
				return []netip.Addr{i.Addr, v4}
			}
		}
	}
	return []netip.Addr{v4}
}

// unfit reports whether a name is no valid name of a host, so that resolvers need not be asked.
func unfit(name string) bool {
	return len(name) > maxName || strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) >= 0
}
