package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateDays is how long a certificate of the daemon's own making is valid; some clients refuse longer ones.
const certificateDays = 825

// ownCertificate reads the certificate that an earlier start made, or makes one for this node's names and host. Nobody vouches for it: clients are given it
// (the file tls.crt in the state folder), or accept it once.
func ownCertificate(stateDir, host string, now time.Time) (tls.Certificate, error) {
	certFile, keyFile := filepath.Join(stateDir, "tls.crt"), filepath.Join(stateDir, "tls.key")
	if stateDir != "off" {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err == nil && now.Before(c.Leaf.NotAfter.AddDate(0, -1, 0)) && (host == "" || c.Leaf.VerifyHostname(host) == nil) {
			return c, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return c, err
		}
	}
	cert, key, err := newCertificate(host, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	if stateDir != "off" {
		if err := errors.Join(writePrivate(certFile, cert), writePrivate(keyFile, key), os.Chmod(certFile, 0o644)); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.X509KeyPair(cert, key)
}

// newCertificate makes a certificate and its key, as PEM.
func newCertificate(host string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "fabricd"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(0, 0, certificateDays),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if name, err := os.Hostname(); err == nil && name != "localhost" {
		t.DNSNames = append(t.DNSNames, name)
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = append(t.IPAddresses, ip)
	} else if host != "" {
		t.DNSNames = append(t.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
