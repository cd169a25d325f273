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

// remote is a side of the daemon over TCP: TLS, and a token with every request. There are two: --listen, and the page's.
type remote struct {
	address     string // as it was asked for
	page        bool   // for browsers of this node
	tokens      atomic.Pointer[tokens]
	own         atomic.Pointer[string]          // the daemon's own token; "" if it has none
	names       atomic.Pointer[[]string]        // that clients may ask for; besides, addresses and what the certificate is for
	certificate atomic.Pointer[tls.Certificate] // nil: the daemon's own
	listener    net.Listener
}

// listen opens the port. HTTP/1.1 alone: with HTTP/2 a connection, which the guard counts, would be hundreds of requests at once.
func (r *remote) listen(g *guard, own *identity) error {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	r.listener = tls.NewListener(&guarded{Listener: l, guard: g, tcp: r.asOne()}, &tls.Config{
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

// asOne is the user whom all clients of this side count as: those of --listen keep no browser of the node from the page, nor the other way round.
func (r *remote) asOne() Caller {
	c := nobody
	if r.page {
		c.UID--
	}
	return c
}

// listenRemote opens the side that --listen asks for.
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

// tokens reads the tokens that are valid, and the daemon's own if it is one of them.
func (c *Config) tokens() (tokens, string, error) {
	if c.Tokens == "" {
		return ownToken(c.StateDir)
	}
	list, err := readTokens(c.Tokens)
	return list, "", err
}

// host is what clients call this side's host.
func (r *remote) host() string {
	host, _, _ := net.SplitHostPort(r.address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return host
}

// ownNames are what clients call this side beside addresses.
func (r *remote) ownNames(more ...string) []string {
	node, _ := os.Hostname()
	return append([]string{"localhost", r.host(), node}, more...)
}

// isCalled reports whether this side is asked for by such a name.
func (r *remote) isCalled(host string) bool {
	if isAddress(host) || called(host, *r.names.Load()) {
		return true
	}
	c := r.certificate.Load()
	return c != nil && c.Leaf.VerifyHostname(host) == nil
}

// link opens the page with the daemon's own token, where it has one; else people type theirs. "" if nobody listens.
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

// authorize lets those pass who show a token with the right to do what they ask for. What browsers send by themselves, cookies and passwords that they keep,
// is no token: another site's page cannot make one send it.
func (r *remote) authorize(s *Site) http.Handler {
	return fromPage(r.isCalled, s.isPublic, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.isPublic(req) {
			s.served.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), nobody)))
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

// shown is the token that a request carries.
func shown(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
