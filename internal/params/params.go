// Package params reads the FI_* variables of a provider: bounds are checked, and the first bad value is the error of all (fi_getparams, fi_provider(7)).
package params

import (
	"fmt"
	"math"
	"time"

	"gofabric/core"
)

// Reader reads the variables of one provider. Its getters return what is set, or the default, also when that is refused: see Err.
type Reader struct {
	p        *core.Params
	provider string
	err      error
}

// Read defines defs, variables of a provider, in p, and returns their reader. With nil p all have their defaults.
func Read(p *core.Params, provider string, defs []core.Param) *Reader {
	if p == nil {
		p, _ = core.NewParams(nil, "")
	}
	p.Define(defs...)
	return &Reader{p: p, provider: provider}
}

// Err is what is wrong with the first variable that makes no sense: a *core.OpError of fi_getinfo(3) whose hint names the variable. nil if all are good.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return &core.OpError{Op: "fi_getinfo", Provider: r.provider, Err: core.ErrInval, Hint: r.err.Error()}
}

// Fail notes an error, unless there was one before or err is nil.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Var is a variable as the environment calls it, such as FI_TCP_TX_SIZE.
func (r *Reader) Var(name string) string { return core.Param{Provider: r.provider, Name: name}.Var() }

func (r *Reader) bound(name string, v, lo, hi int, err error) int {
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("%s is %d, outside %d to %d", r.Var(name), v, lo, hi)
	}
	r.Fail(err)
	return v
}

// Int is a number from lo to hi.
func (r *Reader) Int(name string, lo, hi int) int {
	v, err := r.p.Int(r.provider, name)
	return r.bound(name, v, lo, hi, err)
}

// Size is a number of bytes or things from lo to hi; core.MaxSize is unlimited.
func (r *Reader) Size(name string, lo, hi int) int {
	v, err := r.p.Size(r.provider, name)
	return r.bound(name, v, lo, hi, err)
}

// Millis is a time of lo milliseconds or more.
func (r *Reader) Millis(name string, lo int) time.Duration {
	return time.Duration(r.Int(name, lo, math.MaxInt32)) * time.Millisecond
}

// Bool is a truth value.
func (r *Reader) Bool(name string) bool {
	v, err := r.p.Bool(r.provider, name)
	r.Fail(err)
	return v
}

// String is a text.
func (r *Reader) String(name string) string {
	v, err := r.p.String(r.provider, name)
	r.Fail(err)
	return v
}
