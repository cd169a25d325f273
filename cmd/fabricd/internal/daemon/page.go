package daemon

import (
	"net"
	"net/http"
	"net/url"
	"os"

	"gofabric/internal/fabricd/api"
)

// Browsers do not open Unix sockets: they reach the page over TCP, with a token. A link carries it behind the #, which browsers send to nobody; the page keeps it
// for its tab, and shows it with each request.

// listenPage opens the side for browsers of this node. There is no TLS: only root reads what is on loopback, and a certificate that nobody vouches for would
// teach people to click warnings away. The token lives as long as the daemon, so it is worth nothing to a program that gets the port later.
func listenPage(address string, g *guard) (*remote, error) {
	token, list, err := masterToken()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	r := &remote{scheme: "http", address: address, listener: &guarded{Listener: l, guard: g}}
	r.tokens.Store(&list)
	r.own.Store(&token)
	return r, nil
}

// link opens the page with the daemon's own token, where it has one; else people type theirs. "" if nobody listens.
func (r *remote) link() string {
	if r == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(r.address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	_, port, _ := net.SplitHostPort(r.listener.Addr().String())
	u := url.URL{Scheme: r.scheme, Host: net.JoinHostPort(host, port), Path: "/"}
	if token := *r.own.Load(); token != "" {
		u.Fragment = "token=" + token
	}
	return u.String()
}

// links answers GET /v1/page, to those who may do everything anyway.
func (d *Daemon) links(w http.ResponseWriter, r *http.Request) {
	if !CallerOf(r).Root(os.Getuid()) {
		Refuse(w, http.StatusForbidden, "ask as the user that runs fabricd, or as root", "the links to the page carry a token with all rights")
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := api.Page{Links: []string{}}
	for _, r := range []*remote{d.page, d.remote} {
		if link := r.link(); link != "" {
			p.Links = append(p.Links, link)
		}
	}
	Answer(w, p)
}
