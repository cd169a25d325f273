package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// TestLoopback: the page is for this node only.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"": true, "127.0.0.1:0": true, "127.9.9.9:80": true, "[::1]:7480": true, "[::ffff:127.0.0.1]:1": true,
		":7480": false, "0.0.0.0:7480": false, "[::]:7480": false, "10.0.0.1:7480": false, "localhost:7480": false, "127.0.0.1": false, "127.0.0.1.example:80": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// run runs a daemon until the test ends, and returns a client of its Unix socket.
func run(t *testing.T, c *Config) (*Daemon, *api.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d, ready, done := New(c, slog.New(slog.DiscardHandler), &echo{}), make(chan struct{}), make(chan error, 1)
	d.Ready = func(*api.Page) { close(ready) }
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	client, err := api.Dial(filepath.Join(c.Dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return d, client
}

// page sends a request for /v1/page to the Unix socket.
func page(t *testing.T, c *api.Client, method string) (p api.Page) {
	t.Helper()
	if err := c.Do(t.Context(), method, "/v1/page", nil, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// get sends a request over TLS with the token of a link. It trusts p's certificate only.
func get(t *testing.T, p api.Page, link, path string, change func(*tls.Config)) (int, string, error) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM([]byte(p.Certificate))
	if change != nil {
		change(config)
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}, Timeout: 20 * time.Second}
	token := strings.TrimPrefix(u.Fragment, "token=")
	u.Path, u.Fragment = path, ""
	r, err := http.NewRequestWithContext(t.Context(), "GET", u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// TestPage: the port is open from PUT to DELETE, for clients that trust its certificate and have the token of the
// link. Each token is valid for one opening.
func TestPage(t *testing.T) {
	_, c := run(t, config(t.TempDir()))
	if p := page(t, c, "GET"); p.Link != "" || p.Remote != "" || p.SHA256 == "" {
		t.Errorf("before a request for the page there is %+v", p)
	}
	page(t, c, "DELETE") // the page is not open
	p := page(t, c, "PUT")
	if !strings.HasPrefix(p.Link, "https://127.0.0.1:") || len(p.Link) < 80 {
		t.Errorf("the link is %q", p.Link)
	}
	if again := page(t, c, "PUT"); again != p {
		t.Errorf("a second PUT returns %+v, not %+v", again, p)
	}
	if status, _, err := get(t, p, p.Link, "/v1/me", nil); status != 200 || err != nil {
		t.Errorf("with the token: %d, %v", status, err)
	}
	for _, token := range []string{"", "#token=", "#token=" + strings.Repeat("0", 64)} {
		bare, _, _ := strings.Cut(p.Link, "#")
		if status, text, err := get(t, p, bare+token, "/v1/me", nil); status != 401 || err != nil ||
			strings.Contains(text, "UID") {
			t.Errorf("with %q: %d %s, %v", token, status, text, err)
		}
	}
	if status, _, err := get(t, p, p.Link, "/v1/page", nil); status != 403 || err != nil {
		t.Errorf("the page's own port returns the token: %d, %v", status, err)
	}
	page(t, c, "DELETE")
	if status, _, err := get(t, p, p.Link, "/v1/me", nil); err == nil {
		t.Errorf("the closed port answers %d", status)
	}
	next := page(t, c, "PUT")
	if next.Link == p.Link || next.Certificate != p.Certificate {
		t.Errorf("after another PUT: link %s and %s, certificate %s and %s", p.Link, next.Link, p.SHA256, next.SHA256)
	}
	_, old, _ := strings.Cut(p.Link, "#")
	bare, _, _ := strings.Cut(next.Link, "#")
	if status, _, err := get(t, p, bare+"#"+old, "/v1/me", nil); status != 401 || err != nil {
		t.Errorf("the token of the closed port: %d, %v", status, err)
	}
}

// TestPageTLS: the port accepts TLS 1.3 only, with HTTP/1.1 in it. A client without TLS gets an answer that
// explains this.
func TestPageTLS(t *testing.T) {
	_, c := run(t, config(t.TempDir()))
	p := page(t, c, "PUT")
	for _, v := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12} {
		if status, _, err := get(t, p, p.Link, "/", func(c *tls.Config) { c.MinVersion, c.MaxVersion = v, v }); err == nil || !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("%s: %d, %v", tls.VersionName(v), status, err)
		}
	}
	if _, _, err := get(t, p, p.Link, "/", func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }); err == nil {
		t.Error("a client that trusts no certificate gets an answer")
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, _, err := get(t, p, p.Link, "/", func(c *tls.Config) { c.ServerName = name }); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	plain := "http" + strings.TrimPrefix(p.Link, "https")
	if status, text, err := get(t, p, plain, "/v1/me", nil); err != nil || status != 400 ||
		!strings.Contains(text, "HTTPS server") {
		t.Errorf("without TLS: %d %q, %v", status, text, err)
	}
}

// TestPageTaken: if another program has the usual port, the page uses any free one. An address in the settings must
// be free.
func TestPageTaken(t *testing.T) {
	one, c := run(t, config(t.TempDir()))
	page(t, c, "PUT")
	_, c = run(t, config(t.TempDir()))
	if p := page(t, c, "PUT"); strings.HasPrefix(p.Link, "https://"+pageAddress+"/") {
		t.Errorf("two daemons use %s", p.Link)
	}
	third := config(t.TempDir())
	third.Page = one.page.listener.Addr().String()
	if err := New(third, slog.New(slog.DiscardHandler)).Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a daemon with an address that is in use ended with %v", err)
	}
	third.Page = "[::1]:0"
	_, c = run(t, third)
	if p := page(t, c, "GET"); !strings.HasPrefix(p.Link, "https://[::1]:") {
		t.Errorf("a page that the settings open is at %q", p.Link)
	} else if _, _, err := get(t, p, p.Link, "/", nil); err != nil {
		t.Error(err)
	}
}

// TestPageAtOnce: many clients open and close the page at the same time, also while the daemon ends. All of them
// get an answer, and no port is left.
func TestPageAtOnce(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d, ready, done := New(config(dir), slog.New(slog.DiscardHandler)), make(chan struct{}), make(chan error, 1)
	d.Ready = func(*api.Page) { close(ready) }
	go func() { done <- d.Run(ctx) }()
	<-ready
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			c, err := api.Dial(filepath.Join(dir, fabricd.API))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for n := range 30 {
				method := []string{"PUT", "DELETE", "GET"}[(i+n)%3]
				if err := c.Do(t.Context(), method, "/v1/page", nil, nil); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", method, err)
				}
				if i == 0 && n == 15 {
					cancel()
				}
			}
		})
	}
	work.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(d.listeners.all) > 0 || d.page != nil {
		t.Errorf("after the daemon's end %d listeners are open", len(d.listeners.all))
	}
	if err := d.openPage(PageOn); err == nil {
		t.Error("a daemon that has ended opens a port")
	}
}
