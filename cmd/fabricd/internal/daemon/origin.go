package daemon

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A browser sends requests for any site that its user visits. It sends headers that no script can change: Origin
// (RFC 6454, RFC 9110 and Fetch, 3.2) and Sec-Fetch-Site (W3C Fetch Metadata). If the name of a site resolves to
// this node (DNS rebinding), the request has the same origin as the page, but its Host is the site's name.

// fromPage refuses requests of a browser for any site except the daemon's page, and requests whose Host is not
// accepted by names. public is for answers that are not secret: a link on another site may lead there, but its
// scripts cannot read them, as there are no CORS headers.
func fromPage(names func(host string) bool, public func(*http.Request) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuseHost(w, r, names) {
			return
		}
		origin, site := r.Header.Values("Origin"), r.Header.Values("Sec-Fetch-Site")
		own := func(o string) bool { return strings.EqualFold(o, "https://"+r.Host) }
		same := func(s string) bool { return s == "same-origin" || s == "none" } // none: the user's own action
		switch {
		case !all(origin, own):
			Refuse(w, http.StatusForbidden, "", "the Origin %.100q is another site, which may not use this daemon", origin)
		case !all(site, same) && !public(r):
			Refuse(w, http.StatusForbidden, "", "Sec-Fetch-Site is %.100q: another site may not use this daemon", site)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// fromNoBrowser is for the Unix socket. Browsers do not open it, but a proxy before it would lend its rights to
// every site.
func fromNoBrowser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuseHost(w, r, isPlain) {
			return
		}
		for _, sign := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode"} {
			if v := r.Header.Values(sign); len(v) > 0 {
				Refuse(w, http.StatusForbidden, "fabricd page", "%s is %.100q: requests of browsers over the Unix socket are refused", sign, v)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// refuseHost refuses a Host that is not one of names, and reports whether it has. HTTP/1.0 requests may have none.
func refuseHost(w http.ResponseWriter, r *http.Request, names func(host string) bool) bool {
	if r.Host == "" && !r.ProtoAtLeast(1, 1) || names(hostOf(r.Host)) {
		return false
	}
	Refuse(w, http.StatusMisdirectedRequest, "use an address of this node, or a name that --names lists", "the Host %.100q is not a name of this daemon", r.Host)
	return true
}

// hostOf returns a Host without its port and brackets.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return strings.TrimSuffix(inner, "]")
	}
	return host
}

// isPlain reports whether a foreign DNS server cannot answer for a host: it is an address or a single word.
func isPlain(host string) bool { return isAddress(host) || !strings.Contains(host, ".") }

// isAddress reports whether a host is an IP address, which needs no DNS.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// called reports whether a host is one of the names. Case does not matter (RFC 4343).
func called(host string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSuffix(host, "."), n) })
}

func all(list []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !ok(s) })
}
