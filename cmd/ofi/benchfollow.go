package main

import (
	"context"
	"encoding/json"
	"errors"

	"gofabric/cmd/ofi/internal/bench"
)

// follow prints each measurement when it is made: a line, or with --json an object on a line. An interrupt ends it
// and is not an error.
func (f *benchFlags) follow(ctx context.Context, app *app, c *bench.Config) error {
	if f.nodes != "" || f.veth || f.plot != "" {
		return errFollow
	}
	out := json.NewEncoder(app.out)
	out.SetEscapeHTML(false)
	err := bench.Follow(ctx, *c, func(r bench.Round) error {
		if f.json {
			return out.Encode(r)
		}
		app.printf("%s\n", r)
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var errFollow = errors.New("--follow measures two processes on loopback and draws no picture: leave out --nodes, --veth and --plot")
