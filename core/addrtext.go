package core

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxAddrText is the longest text that ParseAddr reads, in bytes. Names of other schemes are short, too.
const maxAddrText = 1024

// String returns libfabric's text form (fi_av_straddr(3)). The zero Addr is "". ParseAddr reads the text back. The
// zone of a link-local IPv6 address is inside the brackets (RFC 4007, section 11).
func (a Addr) String() string {
	switch a.Format {
	case FormatSockaddrIn:
		return fmt.Sprintf("fi_sockaddr_in://%s:%d", a.IP.Addr(), a.IP.Port())
	case FormatSockaddrIn6:
		return fmt.Sprintf("fi_sockaddr_in6://[%s]:%d", a.IP.Addr(), a.IP.Port())
	case FormatSockaddr, FormatSockaddrIP:
		if a.IP.IsValid() {
			return IPAddr(a.IP).String()
		}
	}
	return a.Str
}

// cString returns the text that fi_info -v prints: without the zone, and "(null)" for no address.
func (a Addr) cString() string {
	if a.IsZero() {
		return "(null)"
	}
	if a.IP.Addr().Zone() != "" {
		a.IP = netip.AddrPortFrom(a.IP.Addr().WithZone(""), a.IP.Port())
	}
	return a.String()
}

// cLen returns the length of the address in C: sizeof(struct sockaddr_in), sockaddr_in6, or the string with its
// NUL.
func (a Addr) cLen() int {
	switch {
	case a.IsZero():
		return 0
	case a.IP.Addr().Is4():
		return 16
	case a.IP.IsValid():
		return 28
	}
	return len(a.Str) + 1
}

// ParseAddr reads an address in libfabric's text form, as FI_ADDR_STR and node arguments take it:
//
//	fi_sockaddr_in://1.2.3.4:7471    fi_sockaddr_in://1.2.3.4    fi_sockaddr_in://:7471
//	fi_sockaddr_in6://[fe80::1%eth0]:7471    fi_sockaddr_in6://[::1]    fi_sockaddr://1.2.3.4:7471
//
// The port defaults to 0, the address to the wildcard. Text with any other scheme is an address of FormatStr, kept
// as it is. Text without "://" is an error: it is a host name, which GetInfo resolves.
func ParseAddr(s string) (Addr, error) {
	if len(s) > maxAddrText {
		return Addr{}, fmt.Errorf("address text of %d bytes is longer than %d: %w", len(s), maxAddrText, ErrInval)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || rest == "" {
		return Addr{}, fmt.Errorf("%q is not an address such as fi_sockaddr_in://1.2.3.4:7471: %w", s, ErrInval)
	}
	var want AddrFormat
	switch strings.ToLower(scheme) {
	case "fi_sockaddr_in":
		want = FormatSockaddrIn
	case "fi_sockaddr_in6":
		want = FormatSockaddrIn6
	case "fi_sockaddr", "fi_sockaddr_ip":
		want = FormatSockaddrIP
	default:
		if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
			return Addr{}, fmt.Errorf("address %q has a control character at byte %d: %w", s, i, ErrInval)
		}
		return Addr{Format: FormatStr, Str: s}, nil
	}
	ap, err := parseHostPort(rest, want)
	if err != nil {
		return Addr{}, fmt.Errorf("address %q: %w: %w", s, err, ErrInval)
	}
	return Addr{Format: formatOfIP(ap.Addr()), IP: ap}, nil
}

// formatOfIP returns the sockaddr format of an IP address. An IPv4 address that is written as mapped into IPv6
// stays IPv6.
func formatOfIP(ip netip.Addr) AddrFormat {
	if ip.Is4() {
		return FormatSockaddrIn
	}
	return FormatSockaddrIn6
}

// parseHostPort reads 1.2.3.4:5, 1.2.3.4, :5, [::1]:5 and [::1].
func parseHostPort(s string, want AddrFormat) (netip.AddrPort, error) {
	host, port := s, ""
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return netip.AddrPort{}, fmt.Errorf("missing ]")
		}
		host = s[1:end]
		if tail := s[end+1:]; tail != "" {
			if tail[0] != ':' {
				return netip.AddrPort{}, fmt.Errorf("unexpected %q after ]", tail)
			}
			port = tail[1:]
			if port == "" {
				return netip.AddrPort{}, errors.New("the port is missing")
			}
		}
	case strings.Count(s, ":") == 1:
		host, port, _ = strings.Cut(s, ":")
		if port == "" {
			return netip.AddrPort{}, errors.New("the port is missing")
		}
	}
	var n uint64
	if port != "" {
		var err error
		if n, err = strconv.ParseUint(port, 10, 16); err != nil {
			return netip.AddrPort{}, fmt.Errorf("port %q is not a number up to 65535", port)
		}
	}
	ip, err := parseIP(host, want)
	return netip.AddrPortFrom(ip, uint16(n)), err
}

func parseIP(host string, want AddrFormat) (netip.Addr, error) {
	if host == "" {
		if want == FormatSockaddrIn6 {
			return netip.IPv6Unspecified(), nil
		}
		return netip.IPv4Unspecified(), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return ip, fmt.Errorf("%q is not an IP address", host)
	}
	if err := checkZone(ip.Zone()); err != nil {
		return ip, err
	}
	if (want == FormatSockaddrIn && !ip.Is4()) || (want == FormatSockaddrIn6 && !ip.Is6()) {
		return ip, fmt.Errorf("%q is of the wrong family for %s", host, want)
	}
	return ip, nil
}

// checkZone accepts names and indices of interfaces (dev_valid_name in the kernel's net/core/dev.c), except those
// that the text form cannot represent.
func checkZone(zone string) error {
	if len(zone) > 64 {
		return fmt.Errorf("zone of %d bytes", len(zone))
	}
	if i := strings.IndexFunc(zone, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("[]%/:", r) }); i >= 0 {
		return fmt.Errorf("zone %q has %q in it", zone, zone[i])
	}
	return nil
}
