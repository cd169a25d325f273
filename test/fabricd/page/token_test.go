//go:build linux

package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestToken opens the page without a token, then enters a wrong token, then the right one.
func TestToken(t *testing.T) {
	t.Parallel()
	s := emulate(t, "pair")
	b := open(t)
	bare, fragment, _ := strings.Cut(s.link, "#")
	token := strings.TrimPrefix(fragment, "token=")
	const asked = `!document.querySelector("#login").hidden && document.querySelector("#main").hidden`
	b.expect("401")
	b.do(chromedp.Navigate(bare))
	b.until(asked)
	b.do(chromedp.SendKeys("#token", strings.Repeat("0", 64)+"\r"))
	b.until(asked + ` && document.querySelector("#token").value == ""`)
	b.do(chromedp.SendKeys("#token", token+"\r"))
	b.until(tableReady)
}

// TestClosed sends requests that must be refused.
func TestClosed(t *testing.T) {
	s := emulate(t, "pair")
	u, err := url.Parse(s.link)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(u.Fragment, "token=")
	u.Fragment = ""
	c := client(t)
	ask := func(method, path string, header http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, u.JoinPath(path).String(),
			strings.NewReader(`{"up":false}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	cookie, basic := http.Header{"Cookie": {"__Host-fabricd=" + token}}, http.Header{}
	r := http.Request{Header: basic}
	r.SetBasicAuth("fabricd", token)
	for _, c := range []struct {
		method, path string
		header       http.Header
		want         int
	}{
		{"GET", "/v1/status", http.Header{"Authorization": {"Bearer " + token}}, 200},
		{"GET", "/v1/status", http.Header{}, 401},
		{"GET", "/v1/status", cookie, 401}, // browsers send cookies with every request
		{"GET", "/v1/status", basic, 401},
		{"GET", "/v1/page", http.Header{}, 401},
		{"GET", "/metrics", http.Header{}, 401},
		{"PATCH", "/v1/emulation/links/n1-n2", http.Header{}, 401},
		{"PATCH", "/", http.Header{}, 401},
		{"GET", "/page/../v1/status", http.Header{}, 401},
		{"GET", "/page/main.js", http.Header{}, 200},
		{"GET", "/page/part.go", http.Header{}, 404},
	} {
		if got := ask(c.method, c.path, c.header).StatusCode; got != c.want {
			t.Errorf("%s %s with %v: %d, not %d", c.method, c.path, c.header, got, c.want)
		}
	}
	if !s.fabric().Links[0].Up {
		t.Error("a client without a token took the link down")
	}
	h := ask("GET", "/", http.Header{}).Header
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if !strings.HasPrefix(h.Get(name), want) {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
}
