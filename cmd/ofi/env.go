package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gofabric/core"
)

// newEnvCommand is ofi env: it lists the FI_* variables.
func newEnvCommand(a *app) *cobra.Command {
	var filter string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "List the environment variables: meaning, default, value",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.printEnv(filter, asJSON)
		},
	}
	cmd.Flags().StringVarP(&filter, "getenv", "g", "", "only variables whose name contains `SUBSTR`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printEnv prints the variables whose name contains filter.
func (a *app) printEnv(filter string, asJSON bool) error {
	all, err := a.params()
	if err != nil {
		return err
	}
	list := withSubstr(all, filter)
	if asJSON {
		return a.json(envRows(list))
	}
	a.printVars(list, false)
	return nil
}

// withSubstr returns the variables whose name contains a text. Case does not matter.
func withSubstr(all []core.ParamValue, substr string) []core.ParamValue {
	var list []core.ParamValue
	for _, p := range all {
		if strings.Contains(strings.ToLower(p.Var()), strings.ToLower(substr)) {
			list = append(list, p)
		}
	}
	return list
}

// printVars prints variables in the layout of fi_info -e. There the default is part of the description; ofi env
// prints it on a line of its own.
func (a *app) printVars(list []core.ParamValue, native bool) {
	for _, p := range list {
		help := p.Help
		if p.Provider != "" {
			help = p.Provider + ": " + help
		}
		if native && p.Default != "" {
			help += " (default: " + p.Default + ")"
		}
		a.printf("# %s: %s\n# %s\n", p.Var(), p.Type, help)
		if !native && p.Default != "" {
			a.printf("# default: %s\n", p.Default)
		}
		if p.Set {
			quote := ""
			if strings.Contains(p.Value, " ") {
				quote = `"`
			}
			a.printf("%s=%s%s%s\n", p.Var(), quote, p.Value, quote)
		}
		a.printf("\n")
	}
}

type envRow struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Provider string `json:"provider,omitempty"`
	Help     string `json:"help"`
	Default  string `json:"default,omitempty"`
	Value    string `json:"value,omitempty"`
	From     string `json:"from,omitempty"`
}

func envRows(list []core.ParamValue) []envRow {
	rows := make([]envRow, 0, len(list))
	for _, p := range list {
		kind := [...]string{core.ParamString: "string", core.ParamInt: "int", core.ParamBool: "bool", core.ParamSize: "size_t"}[p.Type]
		rows = append(rows, envRow{p.Var(), kind, p.Provider, p.Help, p.Default, p.Value, p.From})
	}
	return rows
}
