package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
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
			case neverEmpty[f.Name]:
				tried[f.Name] = true
				assert.NilError(t, checkEmptyFlags(cmd))
				assert.NilError(t, cmd.Flags().Set(f.Name, ""))
				assert.Error(t, checkEmptyFlags(cmd), "--"+f.Name+" is empty: give it a value, or leave the flag out")
				assert.NilError(t, cmd.Flags().Set(f.Name, "x"))
			case f.Value.Type() == "string":
				assert.Assert(t, !aboutSecurity.MatchString(f.Name), "%s --%s is not in the table", cmd.CommandPath(), f.Name)
			}
		})
	}
	try(rootCommand())
	assert.Equal(t, len(tried), len(neverEmpty))

	for line, want := range map[string]int{
		"serve --tokens=": exitUsage, "serve --tls-cert= --tls-key=": exitUsage, "top --token-file=": exitUsage,
		"serve --config x --partitions=": exitUsage,
		"plan --config x --address localhost:1 --ca-cert=": exitRefused,
	} {
		code, _, errs := runCanopy(strings.Fields(line)...)
		assert.Equal(t, code, want, "%s: %s", line, errs)
		assert.Equal(t, strings.Count(errs, " is empty: give it a value, or leave the flag out"),
			strings.Count(line+" ", "= "), errs)
	}
}
