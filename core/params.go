package core

import (
	"fmt"
	"strconv"
	"strings"
)

// ParamType is the type of a parameter (fi_getparams, rdma/providers/fi_prov.h).
type ParamType uint8

const (
	ParamString ParamType = iota
	ParamInt
	ParamBool
	ParamSize
)

// String describes the type as fi_info -e prints it.
func (t ParamType) String() string {
	switch t {
	case ParamString:
		return "String"
	case ParamInt:
		return "Integer"
	case ParamSize:
		return "size_t"
	case ParamBool:
		return "Boolean (0/1, on/off, true/false, yes/no)"
	}
	return "Unknown"
}

// Param defines a parameter: an environment variable FI_<PROVIDER>_<NAME>, or FI_<NAME> of the library itself when
// Provider is empty.
type Param struct {
	Provider string
	Name     string
	Type     ParamType
	Default  string // as in the environment; "" if there is none or it is computed
	Help     string
}

// Var returns the name of the parameter's variable, such as FI_TCP_IFACE.
func (p Param) Var() string { return paramVar(p.Provider, p.Name) }

func paramVar(provider, name string) string {
	if provider != "" {
		name = provider + "_" + name
	}
	return "FI_" + strings.ToUpper(name)
}

// ParamValue is a parameter with its present setting.
type ParamValue struct {
	Param
	Value string // the setting; "" if Set is false
	Set   bool
	From  string // "environment" or "libfabric.conf"
}

// Params are the parameters of a process: definitions, the environment and the configuration file. It reads neither
// by itself. A nil *Params has no settings. Call Define before several goroutines use it. Any goroutine may read.
type Params struct {
	lookup     func(string) (string, bool)
	conf       map[string]string
	preferConf bool
	defs       []Param
	index      map[string]int
}

// NewParams returns parameters over an environment and the content of a libfabric.conf. lookup is usually
// os.LookupEnv; nil is an empty environment. conf has lines of NAME=value; native reads the file in its sysconfdir.
// The environment takes precedence over the file unless FI_PREFER_SYSCONFIG is on.
func NewParams(lookup func(string) (string, bool), conf string) (*Params, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	p := &Params{lookup: lookup, conf: parseConf(conf), index: map[string]int{}}
	p.Define(libraryParams...)
	prefer, err := p.Bool("", "prefer_sysconfig")
	p.preferConf = prefer
	return p, err
}

// parseConf reads NAME=value lines. As in native, it drops blanks around both and lines that start with #, and
// ignores lines without =.
func parseConf(text string) map[string]string {
	conf := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name = strings.TrimSpace(name); !ok || name == "" || name[0] == '#' {
			continue
		}
		if _, dup := conf[name]; !dup { // the first one counts, as in native
			conf[name] = strings.TrimSpace(value)
		}
	}
	return conf
}

// Define adds parameters. A second definition of a parameter replaces the first.
func (p *Params) Define(defs ...Param) {
	for _, d := range defs {
		if i, ok := p.index[d.Var()]; ok {
			p.defs[i] = d
			continue
		}
		p.index[d.Var()] = len(p.defs)
		p.defs = append(p.defs, d)
	}
}

// All returns every defined parameter in order of definition, with its setting (fi_getparams).
func (p *Params) All() []ParamValue {
	if p == nil {
		return nil
	}
	all := make([]ParamValue, len(p.defs))
	for i, d := range p.defs {
		v, from := p.raw(d.Var())
		all[i] = ParamValue{Param: d, Value: v, Set: from != "", From: from}
	}
	return all
}

// raw returns a variable's setting and its source, or "" if it is not set.
func (p *Params) raw(name string) (value, from string) {
	if p == nil {
		return "", ""
	}
	env, inEnv := p.lookup(name)
	conf, inConf := p.conf[name]
	switch {
	case inConf && (!inEnv || p.preferConf):
		return conf, "libfabric.conf"
	case inEnv:
		return env, "environment"
	}
	return "", ""
}

// Lookup returns the setting of a parameter and whether there is one.
func (p *Params) Lookup(provider, name string) (string, bool) {
	v, from := p.raw(paramVar(provider, name))
	return v, from != ""
}

// String returns a parameter's setting, or its default. The error is always nil, for the same signature as the
// other getters.
func (p *Params) String(provider, name string) (string, error) {
	v, _ := p.value(provider, name)
	return v, nil
}

func (p *Params) value(provider, name string) (value, from string) {
	key := paramVar(provider, name)
	value, from = p.raw(key)
	if from == "" && p != nil {
		if i, ok := p.index[key]; ok {
			value, from = p.defs[i].Default, "default"
		}
	}
	return value, from
}

// Int returns a parameter as a number (decimal, 0x, or octal with a leading 0), or 0 if it has no setting and no
// default. The error names the variable.
func (p *Params) Int(provider, name string) (int, error) {
	s, from := p.value(provider, name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil || int64(int32(n)) != n {
		return 0, badParam(provider, name, s, from, "a whole number")
	}
	return int(n), nil
}

// Size returns a parameter as a size or number. As in native, -1 and SIZE_MAX are unlimited, which is MaxSize here.
func (p *Params) Size(provider, name string) (int, error) {
	s, from := p.value(provider, name)
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return 0, nil
	case s == "-1", strings.EqualFold(s, "SIZE_MAX"):
		return MaxSize, nil
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, badParam(provider, name, s, from, "a size in bytes or a count, or -1 for unlimited")
	}
	return int(min(n, MaxSize)), nil
}

// Bool returns a parameter as a truth value: 1/0, true/false, yes/no, on/off in any case.
func (p *Params) Bool(provider, name string) (bool, error) {
	s, from := p.value(provider, name)
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes", "on":
		return true, nil
	case "", "0", "false", "no", "off":
		return false, nil
	}
	return false, badParam(provider, name, s, from, "one of 0/1, on/off, true/false, yes/no")
}

func badParam(provider, name, value, from, want string) error {
	return &OpError{Op: "fi_param_get", Provider: provider, Object: paramVar(provider, name), Err: ErrInval,
		Hint: fmt.Sprintf("%q, from %s, is not %s", value, from, want)}
}
