package cmdline

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

// Checked returns the value of a flag that parse reads and checks. kind names its type in the help.
func Checked[T any](to *T, kind string, parse func(text string) (T, error)) pflag.Value {
	return &checkedValue[T]{to, kind, parse}
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

// TextFlag adds a flag whose value a function checks.
func TextFlag(flags *pflag.FlagSet, to *string, name, value, usage string, check func(text string) error) {
	*to = value
	short := ""
	if name == "output" {
		short = "o"
	}
	flags.VarP(&checkedValue[string]{to, "string", func(text string) (string, error) { return text, check(text) }}, name,
		short, usage)
}

// OutputFlag adds --output.
func OutputFlag(flags *pflag.FlagSet, to *string) {
	TextFlag(flags, to, "output", "text", "how to print: text or json", OneOf("text", "json"))
}

// DurationFlag adds a flag whose value is least or more.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string,
	least time.Duration) {
	*to = value
	flags.Var(&checkedValue[time.Duration]{to, "duration", AtLeast(least, "a duration such as 30s or 5m",
		time.ParseDuration)}, name, usage)
}

// IntFlag adds a flag whose value is least or more.
func IntFlag(flags *pflag.FlagSet, to *int, name string, value int, usage string, least int) {
	*to = value
	flags.Var(&checkedValue[int]{to, "int", AtLeast(least, "a whole number", strconv.Atoi)}, name, usage)
}

// FlagProblem says what a flag takes.
type FlagProblem string

func (p FlagProblem) Error() string { return string(p) }

// AtLeast returns a parser that refuses what is not a value, or less than least.
func AtLeast[T cmp.Ordered](least T, what string, parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		x, err := parse(text)
		switch {
		case err != nil:
			return x, FlagProblem("it must be " + what)
		case x < least && fmt.Sprint(least) == "1ns":
			return x, FlagProblem("it must be above 0")
		case x < least:
			return x, FlagProblem(fmt.Sprintf("it must be %v or more", least))
		}
		return x, nil
	}
}

// OneOf returns a check that a text is one of some.
func OneOf(texts ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(texts, text) {
			return nil
		}
		last := len(texts) - 1
		return errors.New("it must be " + strings.Join(texts[:last], ", ") + " or " + texts[last])
	}
}

// NotEmpty is a check that a text is not empty.
func NotEmpty(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	return nil
}

// HostAndPort checks an address.
func HostAndPort(text string) error {
	_, _, err := net.SplitHostPort(text)
	return err
}

// TimeOrAgo refuses a text that is neither RFC 3339 nor a duration of zero or more; empty: not given.
func TimeOrAgo(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err == nil || text == "" {
		return nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return nil
	}
	return errors.New("it must be a time such as 2026-01-02T15:04:05Z, or how long ago, such as 5m")
}

// CheckTime is TimeOrAgo for a flag that is not checked when it is set.
func CheckTime(flag, text string) error {
	if err := TimeOrAgo(text); err != nil {
		return fmt.Errorf("%s is %q: %w", flag, text, err)
	}
	return nil
}
