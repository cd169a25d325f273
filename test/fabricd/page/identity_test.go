//go:build linux

package page

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// certified is the certificate that a fabricd made for all tests.
type certified struct {
	key  []byte // content of the file tls.key
	pool *x509.CertPool
	spki string // hash of its public key, as for Chromium's --ignore-certificate-errors-spki-list
}

// identity makes a fabricd generate a certificate. All tests use it, as a restarted daemon does, because Chromium
// reads the accepted keys only when it starts.
var identity = sync.OnceValues(func() (c certified, err error) {
	bin, err := programs()
	if err != nil {
		return c, err
	}
	dir, err := os.MkdirTemp("", "gofabric-key-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	run := exec.Command(filepath.Join(bin, "fabricd"), "run", "--dir", dir, "--page", "127.0.0.1:0")
	log, err := run.StderrPipe()
	if err != nil {
		return c, err
	}
	if err := run.Start(); err != nil {
		return c, err
	}
	defer run.Wait()
	defer run.Process.Kill()
	for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), "msg=ready"); {
	}
	if c.key, err = os.ReadFile(filepath.Join(dir, "state/tls.key")); err != nil {
		return c, err
	}
	pair, err := tls.X509KeyPair(c.key, c.key)
	if err != nil {
		return c, err
	}
	sum := sha256.Sum256(pair.Leaf.RawSubjectPublicKeyInfo)
	c.pool, c.spki = x509.NewCertPool(), base64.StdEncoding.EncodeToString(sum[:])
	c.pool.AddCert(pair.Leaf)
	return c, nil
})

// client is an HTTP client that trusts the certificate of all tests.
func client(t *testing.T) *http.Client {
	t.Helper()
	known, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known.pool}}, Timeout: patience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestCertificate checks that Chromium, which accepts one key, shows the page of a daemon with that key, and not the
// page of a daemon with another.
func TestCertificate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve("run")
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(`document.querySelector("#status").textContent.startsWith("up for")`)
	other := newSite(t)
	if err := os.Remove(other.key()); err != nil {
		t.Fatal(err)
	}
	other.serve("run")
	b.expect("ERR_CERT_AUTHORITY_INVALID")
	if _, err := chromedp.Run(b.ctx, chromedp.Navigate(other.link)); err == nil ||
		!strings.Contains(fmt.Sprint(err), "ERR_CERT_AUTHORITY_INVALID") {
		t.Errorf("with a key that Chromium does not accept: %v", err)
	}
	b.picture("warning")
}
