package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// classNumbers is the value of a flag with a number for each QoS class, such as BE=1,LS=2. A class may be
// given once, in one flag or several: the second number would silently replace the first.
type classNumbers map[string]int64

// Set adds the classes of text. It implements pflag.Value.
func (c *classNumbers) Set(text string) error {
	for _, pair := range strings.Split(text, ",") {
		class, number, ok := strings.Cut(pair, "=")
		class = strings.TrimSpace(class)
		if !ok || class == "" {
			return fmt.Errorf("it is CLASS=NUMBER,..., and %q is not", pair)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil {
			return fmt.Errorf("the number of class %s must be a whole number of at most 64 bits, not %q", class, number)
		}
		for other := range *c {
			if strings.EqualFold(other, class) {
				return fmt.Errorf("class %s is given twice", class)
			}
		}
		if *c == nil {
			*c = classNumbers{}
		}
		(*c)[class] = n
	}
	return nil
}

// Type implements pflag.Value.
func (c *classNumbers) Type() string { return "classNumbers" }

// String is empty without classes: the help then shows no default. It implements pflag.Value.
func (c *classNumbers) String() string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(*c)) {
		parts = append(parts, fmt.Sprintf("%s=%d", class, (*c)[class]))
	}
	return strings.Join(parts, ",")
}
