package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// SEC-17, HA-12: each flag about security, and --partitions, is refused with an empty value. A flag whose name is about
// security must be in the table.
func TestSecurityFlags_EmptyValuesAreRefused(t *testing.T) {
	aboutSecurity := regexp.MustCompile(`(^|-)(tls|tokens?|certs?|ca|key|password|secrets)(-|$)`)
	tried := map[string]bool{}
	var try func(cmd *cobra.Command)
	try = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			try(sub)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch {
			case cmdline.NeverEmpty[f.Name]:
				tried[f.Name] = true
				assert.NilError(t, cmdline.CheckEmptyFlags(cmd))
				assert.NilError(t, cmd.Flags().Set(f.Name, ""))
				assert.Error(t, cmdline.CheckEmptyFlags(cmd), "--"+f.Name+" is empty: give it a value, or leave the flag out")
				assert.NilError(t, cmd.Flags().Set(f.Name, "x"))
			case f.Value.Type() == "string":
				assert.Assert(t, !aboutSecurity.MatchString(f.Name), "%s --%s is not in the table", cmd.CommandPath(), f.Name)
			}
		})
	}
	try(rootCommand())
	assert.Equal(t, len(tried), len(cmdline.NeverEmpty))

	for line, want := range map[string]int{
		"serve --tokens=": cmdline.Usage, "serve --tls-cert= --tls-key=": cmdline.Usage, "top --token-file=": cmdline.Usage,
		"serve --config x --partitions=":                   cmdline.Usage,
		"plan --config x --address localhost:1 --ca-cert=": cmdline.Refused,
	} {
		code, _, errs := runCanopy(strings.Fields(line)...)
		assert.Equal(t, code, want, "%s: %s", line, errs)
		assert.Equal(t, strings.Count(errs, " is empty: give it a value, or leave the flag out"),
			strings.Count(line+" ", "= "), errs)
	}
}
