package main

import (
	"encoding/json"
	"fmt"
	"io"

	"gofabric/core"
)

// app has what commands share: the outputs and the providers. Tests replace them.
type app struct {
	out, errOut io.Writer
	getInfo     func(q core.Query) ([]*core.Info, []core.Refusal, error)
	explain     func(found []*core.Info) ([]core.Refusal, []core.Remark)
	params      func() ([]core.ParamValue, error)
}

// printf writes to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// json writes v as indented JSON.
func (a *app) json(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// exitCode returns the exit code for an error: libfabric's number, as the C tools do, or 1.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e := core.ErrnoOf(err); e > 0 && e < 256 {
		return int(e)
	}
	return 1
}
