package directory

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/cluster"
	"gofabric/cmd/fabricd/internal/directory/local"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// open opens the store of the configuration.
func open(ctx context.Context, c *daemon.Config, log *slog.Logger) (store.Store, error) {
	if len(c.Etcd) > 0 {
		return openCluster(ctx, c, log)
	}
	o := local.Options{Limits: limits(c), Grace: c.LeaseGrace, Log: log}
	if c.StateDir != "off" {
		o.Folder = filepath.Join(c.StateDir, "directory")
	}
	return local.Open(o)
}

func openCluster(ctx context.Context, c *daemon.Config, log *slog.Logger) (store.Store, error) {
	o := cluster.Options{Endpoints: c.Etcd, Prefix: c.EtcdPrefix, User: c.EtcdUser, Limits: limits(c), Log: log}
	if c.EtcdPasswordFile != "" {
		data, err := os.ReadFile(c.EtcdPasswordFile)
		if err != nil {
			return nil, fmt.Errorf("etcd's password: %w", err)
		}
		o.Password = strings.TrimRight(string(data), "\r\n")
	}
	for _, e := range c.Etcd {
		if strings.HasPrefix(e, "https://") {
			var err error
			if o.TLS, err = etcdTLS(c); err != nil {
				return nil, err
			}
		}
	}
	s, err := cluster.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// etcdTLS returns the TLS settings for etcd: the system's authorities or the configured one, and a client
// certificate if there is one.
func etcdTLS(c *daemon.Config) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.EtcdCA != "" {
		data, err := os.ReadFile(c.EtcdCA)
		if err != nil {
			return nil, fmt.Errorf("etcd's authority: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("etcd's authority: no certificate in %s", c.EtcdCA)
		}
	}
	if c.EtcdCert != "" {
		cert, err := tls.LoadX509KeyPair(c.EtcdCert, c.EtcdKey)
		if err != nil {
			return nil, fmt.Errorf("the certificate for etcd: %w", err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}
