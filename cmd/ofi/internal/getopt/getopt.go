// Package getopt parses command lines as glibc's getopt_long(3) does, with its error texts: short options in
// clusters, abbreviated long ones, options after arguments.
package getopt

import (
	"fmt"
	"strings"
)

// Option is an option of a program.
type Option struct {
	Short byte   // 0 if there is none
	Long  string // "" if there is none
	NoArg bool   // the option has no argument
}

// Parser goes through a command line.
type Parser struct {
	options []Option
	long    bool     // any option is long; else "--x" is a cluster of short ones
	left    []string // not parsed yet
	cluster string   // the rest of "-abc"
	args    []string
}

// New returns a parser of the arguments of a program, without its name.
func New(args []string, options []Option) *Parser {
	p := &Parser{options: options, left: args}
	for _, o := range options {
		p.long = p.long || o.Long != ""
	}
	return p
}

// Next returns the next option and its argument, nil after the last. After an error do not call it again; programs
// print their help then.
func (p *Parser) Next() (*Option, string, error) {
	if p.cluster != "" {
		return p.short()
	}
	for len(p.left) > 0 {
		word := p.left[0]
		p.left = p.left[1:]
		switch {
		case word == "--":
			p.args, p.left = append(p.args, p.left...), nil
		case p.long && strings.HasPrefix(word, "--"):
			return p.longOption(word[2:])
		case len(word) > 1 && word[0] == '-':
			p.cluster = word[1:]
			return p.short()
		default:
			p.args = append(p.args, word)
		}
	}
	return nil, "", nil
}

// Args returns the arguments that are not options. They are complete after the last option.
func (p *Parser) Args() []string { return p.args }

// short takes an option from the cluster. Its argument is the rest of the cluster or the next word, even if that
// looks like an option.
func (p *Parser) short() (*Option, string, error) {
	c := p.cluster[0]
	p.cluster = p.cluster[1:]
	for i := range p.options {
		o := &p.options[i]
		if o.Short != c {
			continue
		}
		if o.NoArg {
			return o, "", nil
		}
		value := p.cluster
		p.cluster = ""
		if value != "" {
			return o, value, nil
		}
		if value, ok := p.word(); ok {
			return o, value, nil
		}
		return nil, "", fmt.Errorf("option requires an argument -- '%c'", c)
	}
	return nil, "", fmt.Errorf("invalid option -- '%c'", c)
}

func (p *Parser) longOption(word string) (*Option, string, error) {
	name, value, given := strings.Cut(word, "=")
	o, err := p.find(name)
	switch {
	case err != nil:
		return nil, "", err
	case o == nil:
		return nil, "", fmt.Errorf("unrecognized option '--%s'", word)
	case o.NoArg && given:
		return nil, "", fmt.Errorf("option '--%s' doesn't allow an argument", o.Long)
	case o.NoArg || given:
		return o, value, nil
	}
	if value, ok := p.word(); ok {
		return o, value, nil
	}
	return nil, "", fmt.Errorf("option '--%s' requires an argument", o.Long)
}

// find returns the option with a long name, or the only one that begins with it.
func (p *Parser) find(name string) (*Option, error) {
	var found []*Option
	for i := range p.options {
		o := &p.options[i]
		if o.Long == name {
			return o, nil
		}
		if o.Long != "" && strings.HasPrefix(o.Long, name) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	var all strings.Builder
	for _, o := range found {
		fmt.Fprintf(&all, " '--%s'", o.Long)
	}
	return nil, fmt.Errorf("option '--%s' is ambiguous; possibilities:%s", name, all.String())
}

// word takes the next word as an argument.
func (p *Parser) word() (string, bool) {
	if len(p.left) == 0 {
		return "", false
	}
	w := p.left[0]
	p.left = p.left[1:]
	return w, true
}
