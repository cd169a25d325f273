package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/emulate"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/wait"
)

func there(path string) bool { _, err := os.Stat(path); return err == nil }

// entry is one way to reach the daemon. A browser's script that has the token would use it.
type entry struct {
	name, host, token string
	dial              func() (net.Conn, error)
}

// wholeDaemon runs a daemon with all parts, and with an emulated fabric where the system allows one. It returns the
// daemon's patterns and its three entries.
func wholeDaemon(t *testing.T) (patterns []string, entries []entry) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	loader := daemon.NewLoader(flags)
	if err := flags.Parse([]string{"--dir", dir, "--page=127.0.0.1:0", "--listen=127.0.0.1:0", "--names=node7.example"}); err != nil {
		t.Fatal(err)
	}
	c, err := loader.Load()
	if err != nil {
		t.Fatal(err)
	}
	all := parts(c)
	if os.Geteuid() == 0 && there("/dev/net/tun") {
		t.Setenv(envMain, "1") // the emulation's keeper process
		top, err := topology.Load("pair")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, emulate.New(top, false))
	}
	d := daemon.New(c, slog.New(slog.DiscardHandler), all...)
	ready, done := make(chan *api.Page, 1), make(chan error, 1)
	d.Ready = func(p *api.Page) { ready <- p }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	var page *api.Page
	select {
	case page = <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	for name, link := range map[string]string{"page": page.Link, "listen": page.Remote} {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{name, u.Host, strings.TrimPrefix(u.Fragment, "token="), func() (net.Conn, error) {
			return tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"})
		}})
	}
	entries = append(entries, entry{"socket", "fabricd", "", func() (net.Conn, error) { return net.Dial("unix", filepath.Join(dir, fabricd.API)) }})
	return d.Patterns(), entries
}

// ask sends one request exactly as written. It returns the head of the answer and, if the answer is an error, that
// error.
func (g *entry) ask(t *testing.T, method, path, host, headers string) (*http.Response, api.Error) {
	t.Helper()
	conn, err := g.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(wait.End())
	body := ""
	if method != "GET" {
		body = "{}"
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", method, path, host, len(body), headers, body)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", g.name, method, path, err)
	}
	var e api.Error // only the connection is closed: to close the body would read a stream to its end
	if r.StatusCode >= 400 {
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &e)
	}
	for h := range r.Header {
		if strings.HasPrefix(h, "Access-Control-") {
			t.Errorf("%s: %s %s: the answer admits other sites: %s", g.name, method, path, h)
		}
	}
	return r, e
}

func (g *entry) bearer() string {
	if g.token == "" {
		return ""
	}
	return "Authorization: Bearer " + g.token + "\r\n"
}

// variable matches the variable parts of a pattern.
var variable = regexp.MustCompile(`\{[a-z$]*(\.\.\.)?\}`)

// public are the patterns to which any site may link.
var public = map[string]bool{"GET /{$}": true, "GET /page/{file}": true}

// TestBrowsers requests everything that the daemon serves, through each entry and with a valid token, as browsers do
// for other sites. The daemon refuses each request before it does any work. It accepts the same requests from its
// own page and from programs.
func TestBrowsers(t *testing.T) {
	patterns, entries := wholeDaemon(t)
	if len(patterns) < 20 {
		t.Fatalf("the daemon serves only %q", patterns)
	}
	for _, g := range entries {
		_, port, _ := net.SplitHostPort(g.host)
		evil := "evil.example:" + port
		for _, pattern := range patterns {
			method, path, ok := strings.Cut(pattern, " ")
			if !ok {
				t.Fatalf("the pattern %q has no method", pattern)
			}
			path = variable.ReplaceAllStringFunc(path, func(v string) string { return map[bool]string{true: "", false: "x"}[v == "{$}"] })
			type signs struct{ what, host, headers, says string }
			hostile := []signs{
				{"rebound", evil, "", "the Host"},
				{"rebound, and all of one origin", evil, "Origin: https://" + evil + "\r\nSec-Fetch-Site: same-origin\r\n", "the Host"},
				{"another site", g.host, "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\nContent-Type: text/plain\r\n", "Origin"},
				{"a form", g.host, "Origin: https://evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\n", "Origin"},
				{"a frame in a box", g.host, "Origin: null\r\n", "Origin"},
				{"without TLS", g.host, "Origin: http://" + g.host + "\r\n", "Origin"},
				{"another port", g.host, "Origin: https://127.0.0.1:1\r\n", "Origin"},
				{"two origins", g.host, "Origin: https://" + g.host + "\r\nOrigin: https://evil.example\r\n", "Origin"},
				{"the name in another's", strings.ReplaceAll(g.host, ":", ".evil.example:") + ".evil.example", "", "the Host"},
			}
			if !public[pattern] || g.name == "socket" {
				hostile = append(hostile, signs{"an old browser", g.host, "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site"},
					signs{"another program's page", g.host, "Sec-Fetch-Site: same-site\r\n", "Sec-Fetch-Site"})
			}
			for _, h := range hostile {
				for _, m := range []string{method, "OPTIONS"} { // OPTIONS is the preflight request of a browser
					r, e := g.ask(t, m, path, h.host, g.bearer()+h.headers)
					if want := map[bool]int{true: 421, false: 403}[h.says == "the Host"]; r.StatusCode != want ||
						!strings.Contains(e.Message, h.says) {
						t.Errorf("%s: %s %s, %s: %d %+v", g.name, m, path, h.what, r.StatusCode, e)
					}
				}
			}
			g.own(t, method, path, pattern)
		}
	}
}

// own sends requests as the daemon's page and as programs do. Their contents make no sense, so they have little
// effect.
func (g *entry) own(t *testing.T, method, path, pattern string) {
	t.Helper()
	if pattern == "DELETE /v1/page" || pattern == "PUT /v1/page" {
		return // the page's entry must stay open
	}
	friendly := []string{""}
	if g.name != "socket" {
		friendly = append(friendly, "Origin: https://"+g.host+"\r\nSec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n")
	}
	for _, headers := range friendly {
		if r, e := g.ask(t, method, path, g.host, g.bearer()+headers); r.StatusCode == 421 || r.StatusCode == 401 ||
			strings.Contains(e.Message, "Origin") || strings.Contains(e.Message, "Sec-") {
			t.Errorf("%s: %s %s with %q: %d %+v", g.name, method, path, headers, r.StatusCode, e)
		}
	}
	if g.name == "socket" || public[pattern] {
		return
	}
	for _, headers := range []string{"", "Authorization: Bearer \r\n", "Cookie: token=" + g.token + "\r\n", "Authorization: Basic " + g.token + "\r\n"} { // as the page's own site, but without the token
		if r, _ := g.ask(t, method, path, g.host, headers+"Origin: https://"+g.host+"\r\nSec-Fetch-Site: same-origin\r\n"); r.StatusCode != 401 {
			t.Errorf("%s: %s %s with %q: %d", g.name, method, path, headers, r.StatusCode)
		}
	}
}

// TestHosts checks the host names that each entry accepts.
func TestHosts(t *testing.T) {
	_, entries := wholeDaemon(t)
	node, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range entries {
		for host, doors := range map[string]string{
			"127.0.0.1:1": "page listen socket", "[::1]:9": "page listen socket", "[::1]": "page listen socket", "10.1.2.3": "page listen socket",
			"localhost": "page listen socket", "LocalHost:80": "page listen socket", "localhost.": "page listen",
			node: "listen socket", "node7.example": "listen", "node7.example:7480": "listen", "NODE7.example": "listen",
			"node7": "socket", "x": "socket", "evil.example": "", "127.0.0.1.evil.example": "", "node7.example.evil": "", "": "socket", "[::1].evil.example": "", "localhost.evil.example:7481": "",
			"1.2.3.4.5": "", "0x7f.1": "",
		} {
			if strings.ContainsRune(node, '.') && host == node {
				doors = "listen"
			}
			r, _ := g.ask(t, "GET", "/v1/status", host, g.bearer())
			if served := r.StatusCode == 200; served != strings.Contains(doors, g.name) {
				t.Errorf("%s: Host %q: %d", g.name, host, r.StatusCode)
			}
		}
	}
}

// TestNoUpgrade: no entry offers WebSocket, HTTP/2 without TLS or CONNECT, and none streams to a client without the
// token.
func TestNoUpgrade(t *testing.T) {
	_, entries := wholeDaemon(t)
	for _, g := range entries {
		for _, headers := range []string{
			"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
		} {
			if r, _ := g.ask(t, "GET", "/v1/status", g.host, g.bearer()+headers); r.StatusCode != 200 ||
				r.Header.Get("Upgrade") != "" {
				t.Errorf("%s: %q: %d", g.name, headers, r.StatusCode)
			}
		}
		if r, _ := g.ask(t, "CONNECT", "evil.example:443", g.host, g.bearer()); r.StatusCode/100 == 2 {
			t.Errorf("%s: CONNECT: %d", g.name, r.StatusCode)
		}
		if r, _ := g.ask(t, "GET", "/v1/watch", g.host, "Accept: text/event-stream\r\n"); g.name != "socket" &&
			r.StatusCode != 401 {
			t.Errorf("%s: EventSource without a token: %d", g.name, r.StatusCode)
		}
	}
}
