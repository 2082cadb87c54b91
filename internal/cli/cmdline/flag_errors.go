package cmdline

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NeverEmpty names the flags of all commands whose empty value must be a mistake, such as a variable that is not set:
// without them a process is less secure (SEC-17), or serves every partition (HA-12).
var NeverEmpty = map[string]bool{
	"tokens": true, "tls-cert": true, "tls-key": true, "tls-client-ca": true, "admin-listen": true, "ldap-secrets": true,
	"etcd-ca": true, "etcd-cert": true, "etcd-key": true, "etcd-user": true, "etcd-password-file": true,
	"token-file": true, "ca-cert": true, "client-cert": true, "client-key": true, "partitions": true,
}

// CheckEmptyFlags returns an error for each flag of NeverEmpty that is given with an empty value.
func CheckEmptyFlags(cmd *cobra.Command) error {
	var wrong []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); NeverEmpty[f.Name] && (text == "" || text == emptyList) {
			wrong = append(wrong, fmt.Errorf("--%s is empty: give it a value, or leave the flag out", f.Name))
		}
	})
	if len(wrong) == 0 {
		return nil
	}
	return cmd.FlagErrorFunc()(cmd, errors.Join(wrong...))
}

const emptyList = "[]" // as pflag writes one

// WrongFlags returns the texts for which what they say of flags is the case.
func WrongFlags(texts map[string]bool) error {
	var wrong []error
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if texts[text] {
			wrong = append(wrong, errors.New(text))
		}
	}
	return errors.Join(wrong...)
}

// wantedValues says what a flag of a type takes, by pflag.Value.Type.
var wantedValues = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"uint64":  "a whole number that is not negative",
	"float64": "a number", "duration": "a duration such as 30s or 5m",
}

// PlainFlagError replaces the text of the Go library about a malformed value of a flag by what the flag
// takes. Other errors, and nil, stay as they are.
func PlainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag, why := invalid.GetFlag(), errors.Unwrap(invalid)
	if wanted, ok := wantedValues[flag.Value.Type()]; ok && !errors.As(err, new(FlagProblem)) {
		why = errors.New("it must be " + wanted)
	}
	return fmt.Errorf("invalid argument %q for %q flag: %w", invalid.GetValue(), "--"+flag.Name, why)
}
