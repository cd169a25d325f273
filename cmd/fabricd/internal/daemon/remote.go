package daemon

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// remote is the API over TCP: a token with every request, and TLS unless only this node reaches it.
type remote struct {
	scheme, address string // as clients and settings call it
	tokens          atomic.Pointer[tokens]
	own             atomic.Pointer[string] // the daemon's own token; "" if it has none
	certificate     atomic.Pointer[tls.Certificate]
	listener        net.Listener
}

// listenRemote opens the TCP side.
func listenRemote(c *Config, g *guard) (*remote, error) {
	r := &remote{scheme: "https", address: c.Listen}
	if err := r.load(c); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	r.listener = tls.NewListener(&guarded{Listener: l, guard: g}, &tls.Config{
		MinVersion:     tls.VersionTLS13,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.certificate.Load(), nil },
	})
	return r, nil
}

// load reads tokens and certificate, again at a reload.
func (r *remote) load(c *Config) error {
	list, own, err := c.tokens()
	if err != nil {
		return err
	}
	cert, err := c.certificate()
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	r.tokens.Store(&list)
	r.own.Store(&own)
	r.certificate.Store(&cert)
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

func (c *Config) certificate() (tls.Certificate, error) {
	if c.TLSCert != "" {
		return tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return tls.Certificate{}, err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return ownCertificate(c.StateDir, host, time.Now())
}

// authorize lets those pass who show a token with the right to do what they ask for. What browsers send by themselves, cookies and passwords that they keep,
// is no token: another site's page cannot make one send it.
func (r *remote) authorize(s *Site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.isPublic(req) {
			s.Mux.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), nobody)))
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
		s.Mux.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), t.caller())))
	})
}

// shown is the token that a request carries.
func shown(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
