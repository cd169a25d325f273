package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// remote is the API over TCP: TLS always, and a token with every request.
type remote struct {
	tokens      atomic.Pointer[tokens]
	certificate atomic.Pointer[tls.Certificate]
	listener    net.Listener
}

// cookie carries the token of a browser.
const cookie = "__Host-fabricd"

// listenRemote opens the TCP side.
func listenRemote(c *Config, g *guard) (*remote, error) {
	r := &remote{}
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
	list, err := c.tokens()
	if err != nil {
		return err
	}
	cert, err := c.certificate()
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	r.tokens.Store(&list)
	r.certificate.Store(&cert)
	return nil
}

// tokens reads the tokens that are valid.
func (c *Config) tokens() (tokens, error) {
	if c.Tokens == "" {
		return ownToken(c.StateDir)
	}
	return readTokens(c.Tokens)
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

// PageURL is where a browser that has the daemon's own token sees the page. It makes nothing: the daemon did at its start.
func (c *Config) PageURL() (string, error) {
	if c.Listen == "" {
		return "", errors.New("fabricd does not listen on TCP: run it with --listen 127.0.0.1:7480")
	}
	u := url.URL{Scheme: "https", Host: c.Listen, Path: "/"}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", err
	}
	if host == "" || net.ParseIP(host) != nil && net.ParseIP(host).IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return "", err
		}
		u.Host = net.JoinHostPort(host, port)
	}
	if c.Tokens != "" {
		return u.String(), nil // whose token is the user's to know
	}
	token, err := os.ReadFile(ownTokenFile(c.StateDir))
	if err != nil {
		return "", fmt.Errorf("the daemon's own token: %w (has it run with these settings, and may you read it?)", err)
	}
	u.Path, u.RawQuery = "/login", url.Values{"token": {strings.TrimSpace(string(token))}}.Encode()
	return u.String(), nil
}

// authorize lets those pass who show a token with the right to do what they ask for. What a browser sends by itself does not count when another site made it.
func (r *remote) authorize(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		if req.Method == http.MethodGet && path.Clean(req.URL.Path) == "/login" {
			r.login(w, req)
			return
		}
		t := r.tokens.Load().find(shown(req))
		if t == nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="fabricd: the token is the password"`)
			Refuse(w, http.StatusUnauthorized, "send a token: Authorization: Bearer TOKEN", "no valid token")
			return
		}
		if reads := req.Method == http.MethodGet || req.Method == http.MethodHead; !t.admin && (reads && !t.read || !reads && !t.write) {
			Refuse(w, http.StatusForbidden, "", "the token %q has no right to %s", t.Name, req.Method)
			return
		}
		next.ServeHTTP(w, req.WithContext(WithCaller(req.Context(), t.caller())))
	})
}

// shown is the token that a request carries.
func shown(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	if c, err := r.Cookie(cookie); err == nil {
		return c.Value
	}
	return ""
}

// login puts the token of a link into a cookie, so that the page works and the token leaves the address bar.
func (r *remote) login(w http.ResponseWriter, req *http.Request) {
	token := req.URL.Query().Get("token")
	if r.tokens.Load().find(token) == nil {
		Refuse(w, http.StatusUnauthorized, "", "no valid token")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	// Not a redirect: after one, a strict cookie is not sent when the link came from elsewhere.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>fabricd</title><a href="/">fabricd</a>`)
}
