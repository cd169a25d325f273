package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"gofabric/internal/fabricd"
)

// Config has the settings of file, environment and flags. A later source has precedence. A flag --log-level is
// log-level in the file and FABRICD_LOG_LEVEL in the environment. Settings that are too long for a flag are only in
// the file.
type Config struct {
	Dir       string `yaml:"dir"`       // folder of the sockets
	StateDir  string `yaml:"state-dir"` // folder of the state that outlives the daemon
	LogLevel  string `yaml:"log-level"`
	LogFormat string `yaml:"log-format"`

	Page    string   `yaml:"page"`   // loopback TCP address of the page for this node's browsers; PageOn for the usual one; "" for no page
	Listen  string   `yaml:"listen"` // TCP address of the API; "" for none
	Names   []string `yaml:"names"`  // names of the node in requests to Listen
	TLSCert string   `yaml:"tls-cert"`
	TLSKey  string   `yaml:"tls-key"`
	Tokens  string   `yaml:"tokens"` // file of tokens

	Connections        int `yaml:"connections"`
	ConnectionsPerUser int `yaml:"connections-per-user"`

	EntriesPerUser int64 `yaml:"entries-per-user"`
	BytesPerUser   int64 `yaml:"bytes-per-user"`
	Entries        int64 `yaml:"entries"`
	Bytes          int64 `yaml:"bytes"`

	LeaseGrace time.Duration `yaml:"lease-grace"`

	Etcd             []string `yaml:"etcd"` // endpoints; none for a directory of this node's own
	EtcdPrefix       string   `yaml:"etcd-prefix"`
	EtcdCA           string   `yaml:"etcd-ca"`
	EtcdCert         string   `yaml:"etcd-cert"`
	EtcdKey          string   `yaml:"etcd-key"`
	EtcdUser         string   `yaml:"etcd-user"`
	EtcdPasswordFile string   `yaml:"etcd-password-file"`
}

// Flags adds a flag for each setting that has one. The default is its value.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Dir, "dir", fabricd.OwnDir(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()), "folder of the sockets")
	fs.StringVar(&c.StateDir, "state-dir", "", "folder of the state that outlives the daemon; \"off\" keeps it in memory (default: /var/lib/fabricd for root, else below XDG_STATE_HOME; state/ below --dir if that is given)")
	fs.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&c.LogFormat, "log-format", "text", "text or json")
	fs.StringVar(&c.Page, "page", "", "open the page's port for browsers of this node from the start (fabricd page opens it later), with TLS and a new token each time: a loopback `address`, \"on\" for "+pageAddress+" or, if that is taken, any port, or \"off\"")
	fs.Lookup("page").NoOptDefVal = PageOn
	fs.StringVar(&c.Listen, "listen", "", "also serve the API and the page on this TCP address, with TLS and tokens (127.0.0.1:7480)")
	fs.StringSliceVar(&c.Names, "names", nil, "names by which clients of --listen call this node, beside its host name and those of the certificate: a request for any other Host is refused")
	fs.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the certificate for --listen (default: the daemon's own, made when it is first needed and kept in the state folder)")
	fs.StringVar(&c.TLSKey, "tls-key", "", "PEM file of the key of --tls-cert")
	fs.StringVar(&c.Tokens, "tokens", "", "YAML file of the tokens for --listen (default: one token with all rights, kept in the state folder)")
	fs.IntVar(&c.Connections, "connections", 1024, "connections of all clients together")
	fs.IntVar(&c.ConnectionsPerUser, "connections-per-user", 256, "connections of one user")
	fs.Int64Var(&c.EntriesPerUser, "entries-per-user", 65536, "names, values and arrivals at fences that one user may keep")
	fs.Int64Var(&c.BytesPerUser, "bytes-per-user", 64<<20, "bytes of the names, values and arrivals that one user may keep")
	fs.Int64Var(&c.Entries, "entries", 262144, "names, values and arrivals at fences of all users together, root included")
	fs.Int64Var(&c.Bytes, "bytes", 256<<20, "bytes of the names, values and arrivals of all users together, root included")
	fs.DurationVar(&c.LeaseGrace, "lease-grace", 30*time.Second, "the time for which all leases remain at least after a restart")
	fs.StringSliceVar(&c.Etcd, "etcd", nil, "keep the directory in this etcd cluster (https://host:2379,...)")
	fs.StringVar(&c.EtcdPrefix, "etcd-prefix", "/gofabric/", "prefix of the keys in etcd")
	fs.StringVar(&c.EtcdCA, "etcd-ca", "", "PEM file of the authority that signed etcd's certificates")
	fs.StringVar(&c.EtcdCert, "etcd-cert", "", "PEM file of the certificate shown to etcd")
	fs.StringVar(&c.EtcdKey, "etcd-key", "", "PEM file of the key of --etcd-cert")
	fs.StringVar(&c.EtcdUser, "etcd-user", "", "user name for etcd")
	fs.StringVar(&c.EtcdPasswordFile, "etcd-password-file", "", "file with the password of --etcd-user")
}

// fixed returns the names of changed settings that a running daemon cannot apply.
func (c *Config) fixed(now *Config) (names []string) {
	for _, s := range []struct {
		name    string
		changed bool
	}{
		{"dir", c.Dir != now.Dir},
		{"state-dir", c.StateDir != now.StateDir},
		{"log-format", c.LogFormat != now.LogFormat},
		{"page", c.Page != now.Page},
		{"listen", c.Listen != now.Listen},
		{"lease-grace", c.LeaseGrace != now.LeaseGrace},
		{"etcd", !slices.Equal(c.Etcd, now.Etcd)},
		{"etcd-prefix", c.EtcdPrefix != now.EtcdPrefix},
		{"etcd-ca", c.EtcdCA != now.EtcdCA},
		{"etcd-cert", c.EtcdCert != now.EtcdCert},
		{"etcd-key", c.EtcdKey != now.EtcdKey},
		{"etcd-user", c.EtcdUser != now.EtcdUser},
		{"etcd-password-file", c.EtcdPasswordFile != now.EtcdPasswordFile},
	} {
		if s.changed {
			names = append(names, s.name)
		}
	}
	return names
}

// stateDir returns the default state folder. A daemon with its own folder for sockets has a state folder of its
// own.
func (c *Config) stateDir(ownDir bool) string {
	switch {
	case os.Getenv("STATE_DIRECTORY") != "": // systemd.exec(5)
		return os.Getenv("STATE_DIRECTORY")
	case ownDir:
		return filepath.Join(c.Dir, "state")
	case os.Getuid() == 0:
		return "/var/lib/fabricd"
	case os.Getenv("XDG_STATE_HOME") != "":
		return filepath.Join(os.Getenv("XDG_STATE_HOME"), "fabricd")
	default:
		return filepath.Join(os.Getenv("HOME"), ".local/state/fabricd")
	}
}
