// Package fabricd gives a program the node's daemon: import it for its effect.
//
//	import _ "gofabric/fabricd"
//
// A program that does resolves names such as fabric://job/3 (gofabric.Endpoint.Insert, gofabric.Dial, GetInfo), registers its endpoints under such names
// (gofabric.Config.Name), and answers the daemon when it asks for figures, which "ofi top", the daemon's page and Prometheus show. It contains an HTTP client and an
// encoder of JSON for that; other programs contain neither. Where no daemon runs it changes nothing. docs/fabricd.md describes the daemon.
package fabricd

import (
	"context"

	"gofabric/core"
	"gofabric/internal/fabricd/names"
	"gofabric/internal/host"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
)

func init() {
	host.SetDirectory(host.Directory{Lookup: names.Lookup, Register: register})
	telemetry.SetReporter(report.Start)
}

// register keeps a nil *names.Registration from becoming an interface that is not nil.
func register(ctx context.Context, name string, address core.Addr) (host.Registered, error) {
	r, err := names.Register(ctx, name, address)
	if err != nil {
		return nil, err
	}
	return r, nil
}
