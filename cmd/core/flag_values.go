package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// checkedValue is the value of a flag that is checked when it is set.
type checkedValue[T any] struct {
	to    *T
	kind  string
	parse func(text string) (T, error)
}

// Set implements pflag.Value.
func (v *checkedValue[T]) Set(text string) (err error) {
	x, err := v.parse(text)
	if err == nil {
		*v.to = x
	}
	return err
}

// Type implements pflag.Value.
func (v *checkedValue[T]) Type() string { return v.kind }

// String implements pflag.Value.
func (v *checkedValue[T]) String() string {
	if v.to == nil {
		return "" // pflag compares with the zero value
	}
	return fmt.Sprint(*v.to)
}

// textFlag adds a flag whose value a function checks.
func textFlag(flags *pflag.FlagSet, to *string, name, value, usage string, check func(text string) error) {
	*to = value
	short := ""
	if name == "output" {
		short = "o"
	}
	flags.VarP(&checkedValue[string]{to, "string", func(text string) (string, error) { return text, check(text) }}, name,
		short, usage)
}

// outputFlag adds --output.
func outputFlag(flags *pflag.FlagSet, to *string) {
	textFlag(flags, to, "output", "text", "how to print: text or json", oneOfThese("text", "json"))
}

// durationFlag adds a flag whose value is least or more.
func durationFlag(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string,
	least time.Duration) {
	*to = value
	flags.Var(&checkedValue[time.Duration]{to, "duration", atLeast(least, "a duration such as 30s or 5m",
		time.ParseDuration)}, name, usage)
}

// intFlag adds a flag whose value is least or more.
func intFlag(flags *pflag.FlagSet, to *int, name string, value int, usage string, least int) {
	*to = value
	flags.Var(&checkedValue[int]{to, "int", atLeast(least, "a whole number", strconv.Atoi)}, name, usage)
}

// flagProblem says what a flag takes.
type flagProblem string

func (p flagProblem) Error() string { return string(p) }

// atLeast returns a parser that refuses what is not a value, or less than least.
func atLeast[T cmp.Ordered](least T, what string, parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		x, err := parse(text)
		switch {
		case err != nil:
			return x, flagProblem("it must be " + what)
		case x < least && fmt.Sprint(least) == "1ns":
			return x, flagProblem("it must be above 0")
		case x < least:
			return x, flagProblem(fmt.Sprintf("it must be %v or more", least))
		}
		return x, nil
	}
}

// oneOfThese returns a check that a text is one of some.
func oneOfThese(texts ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(texts, text) {
			return nil
		}
		last := len(texts) - 1
		return errors.New("it must be " + strings.Join(texts[:last], ", ") + " or " + texts[last])
	}
}

func notEmpty(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	return nil
}

// hostAndPort checks an address.
func hostAndPort(text string) error {
	_, _, err := net.SplitHostPort(text)
	return err
}

// timeOrAgo refuses a text that is neither RFC 3339 nor a duration of zero or more; empty: not given.
func timeOrAgo(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err == nil || text == "" {
		return nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return nil
	}
	return errors.New("it must be a time such as 2026-01-02T15:04:05Z, or how long ago, such as 5m")
}

// checkTime is timeOrAgo for a flag that is not checked when it is set.
func checkTime(flag, text string) error {
	if err := timeOrAgo(text); err != nil {
		return fmt.Errorf("%s is %q: %w", flag, text, err)
	}
	return nil
}
