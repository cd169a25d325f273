//go:build !linux

package neigh

import (
	"context"
	"errors"
	"net/netip"
)

// Table is empty on this system.
type Table struct{}

// View is empty on this system.
type View struct{}

// Dest is empty on this system.
type Dest struct{}

// Open returns errors.ErrUnsupported.
func Open() (*Table, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (t *Table) Close() error { return nil }

// Link is the state of an interface.
type Link struct {
	MTU  int
	Gone bool
}

// Follow does nothing.
func (t *Table) Follow(int, func(Link)) (stop func()) { return func() {} }

// FollowAddresses does nothing.
func (t *Table) FollowAddresses(func(map[netip.Addr]struct{})) (stop func()) { return func() {} }

// FollowPaths does nothing.
func (t *Table) FollowPaths(func()) (stop func()) { return func() {} }

// View returns a View without paths.
func (t *Table) View(netip.Addr, int) *View { return &View{} }

// Prepare does nothing.
func (v *View) Prepare() {}

// Path returns nil.
func (v *View) Path(*Dest, netip.Addr) *Path { return nil }

// Why returns errors.ErrUnsupported.
func (v *View) Why(*Dest) error { return errors.ErrUnsupported }

// Resolve returns errors.ErrUnsupported.
func (v *View) Resolve(context.Context, *Dest, netip.Addr) (*Path, error) {
	return nil, errors.ErrUnsupported
}
