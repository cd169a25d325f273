package core

import (
	"fmt"
	"slices"
)

// Refusal is the reason why GetInfo does not return a stack of providers, one of its kinds of endpoint, or one of
// its interfaces.
type Refusal struct {
	Provider  string // the stack's name, such as "tcp;ofi_rxm"
	Interface string // "" if the reason is the same for all
	EPType    EPType // EPTypeUnspec if the reason is the same for all
	Reason    string // the field, what was asked for and what is offered
	stage     int
}

// String returns a line for ofi info --why.
func (r Refusal) String() string {
	s := r.Provider
	if r.EPType != EPTypeUnspec {
		s += " " + r.EPType.String()
	}
	if r.Interface != "" {
		s += " " + r.Interface
	}
	return s + ": " + r.Reason
}

// refusals collects reasons, each once.
type refusals struct{ list []Refusal }

func (rs *refusals) add(r Refusal) {
	if !slices.Contains(rs.list, r) {
		rs.list = append(rs.list, r)
	}
}

// hint returns a sentence with the refusal of the highest stage.
func (rs *refusals) hint() string {
	if len(rs.list) == 0 {
		return "no provider is available"
	}
	best := rs.list[0]
	for _, r := range rs.list[1:] {
		if r.stage > best.stage {
			best = r
		}
	}
	if n := len(rs.list) - 1; n > 0 {
		return fmt.Sprintf("%s; and %d more reasons: ofi info --why lists them", best, n)
	}
	return best.String()
}
