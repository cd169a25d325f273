package fabricd

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/test/program"
)

// makeToken makes a token with the command fabricd token, and adds its entry to a file.
func makeToken(t *testing.T, file string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"token"}, args...)...)
	var token strings.Builder
	cmd.Stderr = &token
	entry, err := cmd.Output()
	if err != nil {
		t.Fatalf("fabricd token %v: %v, %s", args, err, token.String())
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(entry); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(entry), strings.TrimSpace(token.String())) {
		t.Error("the entry contains the token itself")
	}
	return strings.TrimSpace(token.String())
}

// trusting returns a client that trusts the daemon's certificate.
func trusting(t *testing.T, dir string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(filepath.Join(dir, "state/tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		Timeout: 20 * time.Second}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// send sends a request and returns the status and body of the answer.
func send(t *testing.T, c *http.Client, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// TestTokens checks that requests over TCP need TLS and a token, and that a token has the rights of its entry and acts
// as its user.
func TestTokens(t *testing.T) {
	dir, address := newDir(t), program.FreeAddress(t)
	file := filepath.Join(dir, "tokens")
	reader := makeToken(t, file, "reader")
	alice := makeToken(t, file, "alice", "--rights", "read,write", "--uid", "1000")
	bob := makeToken(t, file, "bob", "--rights", "read,write", "--uid", "1001")
	p := start(t, dir, "--listen", address, "--tokens", file)
	c, base := trusting(t, dir), "https://"+address
	const body = `{"address":"1"}`
	for _, r := range []struct {
		what, method, path, token string
		want                      int
	}{
		{"no token", "GET", "/v1/status", "", 401},
		{"a wrong token", "GET", "/v1/status", strings.Repeat("0", 64), 401},
		{"half a token", "GET", "/v1/status", reader[:32], 401},
		{"the digest as token", "GET", "/v1/status", "x", 401},
		{"a reader reads", "GET", "/v1/status", reader, 200},
		{"a reader writes", "PUT", "/v1/names/a", reader, 403},
		{"alice writes", "PUT", "/v1/names/a", alice, 200},
		{"bob overwrites", "PUT", "/v1/names/a", bob, 403},
		{"bob deletes", "DELETE", "/v1/names/a", bob, 403},
		{"bob reads", "GET", "/v1/names/a", bob, 200},
	} {
		text := ""
		if r.method == "PUT" {
			text = body
		}
		if got, answer := send(t, c, r.method, base+r.path, text, "Authorization", "Bearer "+r.token); got != r.want {
			t.Errorf("%s: %d %s, want %d", r.what, got, answer, r.want)
		}
	}
	if resp, err := http.Get("http://" + address + "/v1/status"); err == nil {
		resp.Body.Close()
		if resp.StatusCode/100 == 2 {
			t.Error("served without TLS")
		}
	}
	if resp, err := http.Get(base + "/v1/status"); err == nil {
		resp.Body.Close()
		t.Error("a client that does not trust the certificate accepted it")
	}
	// A token that is removed from the file is invalid after a reload.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	makeToken(t, file, "other")
	p.Signal(syscall.SIGHUP)
	p.Expect("msg=reloaded")
	if got, _ := send(t, c, "GET", base+"/v1/status", "", "Authorization", "Bearer "+alice); got != 401 {
		t.Errorf("a request with a removed token: status %d", got)
	}
}

// TestPageLink checks that the link of fabricd page has the token in the fragment, which browsers do not send, and
// that a cookie, which they do send, is not accepted.
func TestPageLink(t *testing.T) {
	dir, address := newDir(t), program.FreeAddress(t)
	start(t, dir, "--listen", address)
	links, _ := page(t, dir) // the page's own link, and that of --listen
	own, link, _ := strings.Cut(links, "\n")
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	token := tokenOf(t, link)
	if token == tokenOf(t, own) {
		t.Error("the page and --listen have the same token")
	}
	u.Fragment = ""
	c, base := trusting(t, dir), "https://"+address
	if u.String() != base+"/" {
		t.Errorf("the link is for %s, not %s", u, base)
	}
	if got, _ := send(t, c, "GET", u.String(), ""); got != 200 {
		t.Errorf("the page's files, which need no token: status %d", got)
	}
	if got, _ := send(t, c, "GET", base+"/v1/status", ""); got != 401 {
		t.Errorf("without the token: status %d", got)
	}
	if got, _ := send(t, c, "GET", base+"/v1/status", "", "Cookie", "token="+token, "Origin", base); got != 401 {
		t.Errorf("with a cookie: status %d", got)
	}
	if got, answer := send(t, c, "PUT", base+"/v1/names/a", `{"address":"1"}`,
		"Authorization", "Bearer "+token); got != 200 {
		t.Errorf("with the page's token a request changed something: status %d %s", got, answer)
	}
	for _, f := range []string{"token", "tls.key"} {
		info, err := os.Stat(filepath.Join(dir, "state", f))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	saved, err := os.ReadFile(filepath.Join(dir, "state/token"))
	if err != nil || strings.TrimSpace(string(saved)) != token {
		t.Errorf("the token in the state folder: %v", err)
	}
}
