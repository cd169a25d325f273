package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"gofabric/internal/fabricd"
)

// EnvPrefix is the prefix of the settings in the environment.
const EnvPrefix = "FABRICD_"

// SystemConfig is the default configuration file. It need not exist.
const SystemConfig = "/etc/fabricd.yaml"

// Loader loads a configuration, again at each SIGHUP.
type Loader struct {
	File string // "" for SystemConfig, which need not be there
	args *pflag.FlagSet
}

// NewLoader adds the flags of a configuration to a command's.
func NewLoader(args *pflag.FlagSet) *Loader {
	l := &Loader{args: args}
	args.StringVar(&l.File, "config", "", "configuration file (default "+SystemConfig+", if that file exists); SIGHUP makes the daemon read it again")
	new(Config).Flags(args)
	return l
}

// Load reads file, environment and flags.
func (l *Loader) Load() (*Config, error) {
	c := &Config{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags(fs)
	fromFile, err := l.read(c)
	if err != nil {
		return nil, err
	}
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		env := EnvPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := os.Getenv(env); v != "" {
			if err := set(fs, f, v); err != nil {
				errs = append(errs, fmt.Errorf("the environment's %s: %w", env, err))
			}
		}
		if given := l.args.Lookup(f.Name); given != nil && given.Changed {
			if err := set(fs, f, text(given)); err != nil {
				errs = append(errs, err)
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.StateDir == "" {
		c.StateDir = c.stateDir(fs.Changed("dir") || fromFile["dir"])
	}
	if c.Page == "off" {
		c.Page = ""
	}
	return c, c.check()
}

// set sets a setting, in place of the value from an earlier source.
func set(fs *pflag.FlagSet, f *pflag.Flag, v string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		var items []string
		for item := range strings.SplitSeq(v, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return list.Replace(items)
	}
	return fs.Set(f.Name, v)
}

func text(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// read decodes the file into c and returns the names of its settings.
func (l *Loader) read(c *Config) (map[string]bool, error) {
	path := l.File
	if path == "" {
		if path = os.Getenv(EnvPrefix + "CONFIG"); path == "" {
			path = SystemConfig
		}
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && path == SystemConfig && l.File == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the configuration %s: %w", path, err)
	}
	var keys map[string]yaml.Node
	if err := yaml.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("the configuration %s: %w", path, err)
	}
	has := map[string]bool{}
	for k := range keys {
		has[k] = true
	}
	return has, nil
}

// check refuses settings that cannot work.
func (c *Config) check() error {
	switch {
	case c.Dir == "" || c.Dir == "off":
		return fmt.Errorf("the folder of the sockets is %q: name one with --dir, or unset %s", c.Dir, fabricd.EnvDir)
	case c.Page != PageOn && !isLoopback(c.Page):
		return fmt.Errorf("page %q: give a loopback address, such as %s; for browsers of other nodes set listen", c.Page, pageAddress)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("set tls-cert and tls-key together")
	case (c.EtcdCert == "") != (c.EtcdKey == ""):
		return errors.New("set etcd-cert and etcd-key together")
	case c.Connections < 1, c.ConnectionsPerUser < 1:
		return errors.New("connections and connections-per-user must be 1 or more")
	case c.Entries < 0, c.Bytes < 0, c.EntriesPerUser < 0, c.BytesPerUser < 0:
		return errors.New("limits of entries and bytes must not be negative; 0 means no limit")
	case c.LeaseGrace < 0:
		return errors.New("lease-grace must not be negative")
	case c.LogFormat != "text" && c.LogFormat != "json":
		return fmt.Errorf("log-format is text or json, not %q", c.LogFormat)
	}
	_, err := c.Level()
	return err
}

// isLoopback reports whether only this node reaches address, or address is empty.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return address == "" || err == nil && ip != nil && ip.IsLoopback()
}

// Level returns the log level.
func (c *Config) Level() (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("log-level is debug, info, warn or error, not %q", c.LogLevel)
	}
	return level, nil
}
