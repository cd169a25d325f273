package daemon

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	certificateDays = 825       // validity of a certificate that the daemon makes; some clients refuse longer ones
	renewDays       = 30        // a new one is made this many days before the end
	recheck         = time.Hour // interval of this check in a running daemon
)

// identity is the self-signed certificate of the daemon. Clients get it as a file, or accept it once. The state
// folder keeps it across restarts. tls.key has key and certificate in one file, so that they always match. tls.crt
// is a copy for clients.
type identity struct {
	stateDir string // "off": only in memory
	log      *slog.Logger
	now      func() time.Time

	mu      sync.Mutex
	hosts   []string // hosts that the certificate is for
	cert    *tls.Certificate
	checked time.Time
}

func newIdentity(stateDir string, log *slog.Logger) *identity {
	return &identity{stateDir: stateDir, log: log, now: time.Now, hosts: []string{"localhost", "127.0.0.1", "::1"}}
}

// cover returns the certificate. It makes a new one if there is none that is valid for these hosts and the next
// weeks.
func (i *identity) cover(hosts ...string) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range hosts {
		if !slices.Contains(i.hosts, h) {
			i.hosts = append(i.hosts, h)
		}
	}
	i.checked = i.now()
	if i.cert != nil && i.fits(i.cert.Leaf) {
		return i.cert, nil
	}
	kept, err := i.read()
	if err != nil {
		return nil, err
	}
	if kept != nil && i.fits(kept.Leaf) {
		if err := i.publish(kept); err != nil {
			i.log.Error("the copy of the certificate for clients cannot be written", "error", err)
		}
		i.cert = kept
		return kept, nil
	}
	text, cert, err := i.newCertificate()
	if err != nil {
		return nil, err
	}
	if err := i.write(text, cert); err != nil {
		if kept == nil || !i.serves(kept.Leaf, i.now()) {
			return nil, err
		}
		i.log.Error("the certificate cannot be renewed", "until", kept.Leaf.NotAfter, "error", err)
		cert = kept // while it is valid
	}
	i.cert = cert
	return cert, nil
}

// get is for tls.Config.GetCertificate, after cover. A certificate that cannot be renewed is used until it expires.
func (i *identity) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	i.mu.Lock()
	cert, due := i.cert, i.now().Sub(i.checked) >= recheck
	i.mu.Unlock()
	if !due {
		return cert, nil
	}
	fresh, err := i.cover()
	if err != nil {
		i.log.Error("the certificate cannot be renewed", "error", err)
		return cert, nil
	}
	return fresh, nil
}

// fits reports whether a certificate is for all hosts and not close to its end.
func (i *identity) fits(leaf *x509.Certificate) bool {
	return i.serves(leaf, i.now()) && i.serves(leaf, i.now().AddDate(0, 0, renewDays))
}

// serves reports whether a certificate is valid for all hosts at a time.
func (i *identity) serves(leaf *x509.Certificate, at time.Time) bool {
	return at.After(leaf.NotBefore) && at.Before(leaf.NotAfter) &&
		!slices.ContainsFunc(i.hosts, func(h string) bool { return leaf.VerifyHostname(h) != nil })
}

func (i *identity) file(name string) string { return filepath.Join(i.stateDir, name) }

// read returns the stored certificate, nil if there is no usable one.
func (i *identity) read() (*tls.Certificate, error) {
	if i.stateDir == "off" {
		return nil, nil
	}
	text, err := os.ReadFile(i.file("tls.key"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(i.file("tls.key"))
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(text, text)
	if mode := info.Mode().Perm(); err == nil && mode&0o077 != 0 {
		err = fmt.Errorf("other users may read its key (mode %o)", mode)
	}
	if err != nil {
		i.log.Warn("a new certificate is made", "instead", i.file("tls.key"), "error", err)
		return nil, nil
	}
	return &cert, nil
}

// write stores the certificate.
func (i *identity) write(text []byte, cert *tls.Certificate) error {
	if i.stateDir == "off" {
		return nil
	}
	if err := writeWhole(i.file("tls.key"), text, 0o600); err != nil {
		return err
	}
	return i.publish(cert)
}

// publish writes the copy for clients unless it exists: the process may have been killed between key and copy.
func (i *identity) publish(cert *tls.Certificate) error {
	text := certificatePEM(cert)
	if there, err := os.ReadFile(i.file("tls.crt")); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return writeWhole(i.file("tls.crt"), text, 0o644)
}

// newCertificate returns a new certificate for the hosts. text has it and its key as PEM.
func (i *identity) newCertificate() (text []byte, cert *tls.Certificate, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	now := i.now()
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "fabricd"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(0, 0, certificateDays),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, h := range i.hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	text = append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	pair, err := tls.X509KeyPair(text, text)
	return text, &pair, err
}

// certificatePEM returns a certificate in the form that clients take.
func certificatePEM(c *tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw})
}

// fingerprint returns a certificate's SHA-256 as browsers and openssl show it.
func fingerprint(c *tls.Certificate) string {
	sum := sha256.Sum256(c.Leaf.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
