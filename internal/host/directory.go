package host

import (
	"context"
	"fmt"
	"net/netip"

	"gofabric/core"
)

// DirectoryScheme stands before :// in addresses that are names of the node's directory.
const DirectoryScheme = "fabric"

// Directory is the node's directory of names (fabricd), as a program uses it.
type Directory struct {
	// Lookup returns the addresses that a name stands for.
	Lookup Lookup
	// Register keeps a name for an address until the result is closed.
	Register func(ctx context.Context, name string, address core.Addr) (Registered, error)
}

// Registered is a name that is kept in the directory.
type Registered interface {
	// Close takes the name back.
	Close()
}

// directory is what SetDirectory was given.
var directory Directory

// SetDirectory gives the program a directory of names. It is for init functions: package gofabric/fabricd calls it, so that only programs that import it contain an HTTP client.
func SetDirectory(d Directory) { directory = d }

// errNoDirectory is core.ErrNoSys, and says which import the program lacks.
var errNoDirectory = fmt.Errorf(`names of fabricd are not part of this program: import _ "gofabric/fabricd", or _ "gofabric/all" for all there is: %w`, core.ErrNoSys)

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
