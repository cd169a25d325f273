// Package params reads the FI_* variables of a provider (fi_getparams, fi_provider(7)). It checks their bounds and
// reports the first bad value.
package params

import (
	"fmt"
	"math"
	"time"

	"gofabric/core"
)

// Reader reads the variables of one provider. Its getters return the value, or the default if the value is not set or
// refused; see Err.
type Reader struct {
	p        *core.Params
	provider string
	err      error
}

// Read defines defs, the variables of a provider, in p, and returns their reader. If p is nil, all have their
// defaults.
func Read(p *core.Params, provider string, defs []core.Param) *Reader {
	if p == nil {
		p, _ = core.NewParams(nil, "")
	}
	p.Define(defs...)
	return &Reader{p: p, provider: provider}
}

// Err returns the error of the first invalid variable: a *core.OpError of fi_getinfo(3) whose hint names the
// variable. It is nil if all are valid.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return &core.OpError{Op: "fi_getinfo", Provider: r.provider, Err: core.ErrInval, Hint: r.err.Error()}
}

// Fail records err, unless it is nil or there was an error before.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Var returns the name of a variable in the environment, such as FI_TCP_TX_SIZE.
func (r *Reader) Var(name string) string { return core.Param{Provider: r.provider, Name: name}.Var() }

func (r *Reader) bound(name string, v, lo, hi int, err error) int {
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("%s is %d, but must be between %d and %d", r.Var(name), v, lo, hi)
	}
	r.Fail(err)
	return v
}

// Int returns a number from lo to hi.
func (r *Reader) Int(name string, lo, hi int) int {
	v, err := r.p.Int(r.provider, name)
	return r.bound(name, v, lo, hi, err)
}

// Size returns a number of bytes or objects from lo to hi. core.MaxSize means unlimited.
func (r *Reader) Size(name string, lo, hi int) int {
	v, err := r.p.Size(r.provider, name)
	return r.bound(name, v, lo, hi, err)
}

// Millis returns a time of at least lo milliseconds.
func (r *Reader) Millis(name string, lo int) time.Duration {
	return time.Duration(r.Int(name, lo, math.MaxInt32)) * time.Millisecond
}

// Bool returns a truth value.
func (r *Reader) Bool(name string) bool {
	v, err := r.p.Bool(r.provider, name)
	r.Fail(err)
	return v
}

// String returns a text.
func (r *Reader) String(name string) string {
	v, err := r.p.String(r.provider, name)
	r.Fail(err)
	return v
}
