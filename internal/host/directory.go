package host

import (
	"context"
	"fmt"
	"net/netip"

	"gofabric/core"
)

// DirectoryScheme precedes :// in addresses that are names of the node's directory.
const DirectoryScheme = "fabric"

// Directory is the node's directory of names (fabricd) for programs.
type Directory struct {
	// Lookup returns the addresses that a name stands for.
	Lookup Lookup
	// Register keeps a name registered for an address until the result is closed.
	Register func(ctx context.Context, name string, address core.Addr) (Registered, error)
}

// Registered is a name that is kept in the directory.
type Registered interface {
	// Close removes the name.
	Close()
}

// directory is the argument of SetDirectory.
var directory Directory

// SetDirectory sets the program's directory of names. Call it in init functions: package gofabric/fabricd does, so
// that other programs contain no HTTP client.
func SetDirectory(d Directory) { directory = d }

// errNoDirectory is core.ErrNoSys, and says which import the program lacks.
var errNoDirectory = fmt.Errorf(`this program cannot look up names in fabricd: import _ "gofabric/fabricd", or _ "gofabric/all" for all providers and layers too: %w`, core.ErrNoSys)

// LookupName is the Lookup of DirectoryScheme.
func LookupName(ctx context.Context, name string) ([]netip.AddrPort, error) {
	if directory.Lookup == nil {
		return nil, errNoDirectory
	}
	return directory.Lookup(ctx, name)
}

// RegisterName registers a name for an address in the directory.
func RegisterName(ctx context.Context, name string, address core.Addr) (Registered, error) {
	if directory.Register == nil {
		return nil, errNoDirectory
	}
	return directory.Register(ctx, name, address)
}
