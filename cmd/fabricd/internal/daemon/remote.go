package daemon

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
)

// remote is the API over TCP: TLS, and a token with every request. There are two: --listen, and the page's.
type remote struct {
	address     string // as in the configuration
	page        bool   // for browsers of this node
	tokens      atomic.Pointer[tokens]
	own         atomic.Pointer[string]          // the daemon's own token; "" if it has none
	names       atomic.Pointer[[]string]        // names that requests may have, besides addresses and the certificate's names
	certificate atomic.Pointer[tls.Certificate] // nil: the daemon's own
	listener    net.Listener
}

// listen opens the port, for HTTP/1.1 only: with HTTP/2 a connection, which the guard counts, could have hundreds
// of requests at once.
func (r *remote) listen(g *guard, own *identity) error {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	r.listener = tls.NewListener(&guarded{Listener: l, guard: g, tcp: r.sharedCaller()}, &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := r.certificate.Load(); c != nil {
				return c, nil
			}
			return own.get(hello)
		},
	})
	return nil
}

// sharedCaller returns the user that all clients of this port count as. So the clients of --listen and the browsers
// of the node cannot use up each other's connections.
func (r *remote) sharedCaller() Caller {
	c := noCaller
	if r.page {
		c.UID--
	}
	return c
}

// listenRemote opens the port of --listen.
func listenRemote(c *Config, g *guard, own *identity) (*remote, error) {
	r := &remote{address: c.Listen}
	if err := r.load(c, own); err != nil {
		return nil, err
	}
	return r, r.listen(g, own)
}

// load reads tokens and certificate, again at a reload.
func (r *remote) load(c *Config, own *identity) error {
	list, token, err := c.tokens()
	if err != nil {
		return err
	}
	var cert *tls.Certificate
	if c.TLSCert == "" {
		_, err = own.cover(append(c.Names, r.host())...)
	} else {
		var pair tls.Certificate
		pair, err = tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		cert = &pair
	}
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	r.tokens.Store(&list)
	r.own.Store(&token)
	r.certificate.Store(cert)
	names := r.ownNames(c.Names...)
	r.names.Store(&names)
	return nil
}

// tokens returns the valid tokens, and the daemon's own if it is one of them.
func (c *Config) tokens() (tokens, string, error) {
	if c.Tokens == "" {
		return ownToken(c.StateDir)
	}
	list, err := readTokens(c.Tokens)
	return list, "", err
}

// host returns the name that clients use for this port's host.
func (r *remote) host() string {
	host, _, _ := net.SplitHostPort(r.address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return host
}

// ownNames returns the names that clients use for this port besides addresses.
func (r *remote) ownNames(more ...string) []string {
	node, _ := os.Hostname()
	return append([]string{"localhost", r.host(), node}, more...)
}

// isCalled reports whether host is one of this port's names.
func (r *remote) isCalled(host string) bool {
	if isAddress(host) || called(host, *r.names.Load()) {
		return true
	}
	c := r.certificate.Load()
	return c != nil && c.Leaf.VerifyHostname(host) == nil
}

// link returns the page's link with the daemon's own token. Without such a token users type theirs. It is "" if the
// port is closed.
func (r *remote) link() string {
	if r == nil {
		return ""
	}
	_, port, _ := net.SplitHostPort(r.listener.Addr().String())
	u := url.URL{Scheme: "https", Host: net.JoinHostPort(r.host(), port), Path: "/"}
	if token := *r.own.Load(); token != "" {
		u.Fragment = "token=" + token
	}
	return u.String()
}

// authorize passes requests on that have a token with the right for them. Cookies and passwords, which browsers
// send by themselves, are not tokens: a page of another site cannot make a browser send a token.
func (r *remote) authorize(s *Site) http.Handler {
	return fromPage(r.isCalled, s.isPublic, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.isPublic(req) {
			s.served.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), noCaller)))
			return
		}
		t := r.tokens.Load().find(shown(req))
		if t == nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="fabricd"`)
			Refuse(w, http.StatusUnauthorized, "send a token: Authorization: Bearer TOKEN", "no valid token")
			return
		}
		if reads := req.Method == http.MethodGet || req.Method == http.MethodHead; !t.admin && (reads && !t.read || !reads && !t.write) {
			Refuse(w, http.StatusForbidden, "", "the token %q has no right to %s", t.Name, req.Method)
			return
		}
		s.served.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), t.caller())))
	}))
}

// shown returns the token of a request.
func shown(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
