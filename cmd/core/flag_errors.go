package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// wantedValues says what a flag of a type takes, by pflag.Value.Type.
var wantedValues = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number that is not negative",
	"float64": "a number", "duration": "a duration such as 30s or 5m",
}

// plainFlagError replaces the text of the Go library about a malformed value of a flag by what the flag
// takes. Other errors, and nil, stay as they are.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wanted, ok := wantedValues[invalid.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: it must be %s", invalid.GetValue(), "--"+invalid.GetFlag().Name, wanted)
}
