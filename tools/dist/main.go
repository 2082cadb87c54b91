// Command dist builds what users install: static programs for Linux, archives, Debian packages, images, and lists of
// what they contain. "make dist" runs it.
//
// It builds with the targets of the Makefile, so that what is shipped is what developers build, and packs what they
// leave. The same commit and the same Go give the same bytes, on any machine and in any directory: no file has a time
// but SOURCE_DATE_EPOCH, an owner but root, or a name of the directory in which it was built.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run builds what a command line asks for. It writes the name of each finished file to out.
func run(args []string, out, errs io.Writer) error {
	r := release{progress: out, errs: errs}
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&r.root, "root", ".", "`directory` of the repository")
	flags.StringVar(&r.out, "out", "", "`directory` that is replaced by what is built (default: dist in the repository)")
	flags.StringVar(&r.version, "version", "", "`version` of the programs, as git describe prints it; required")
	arches := flags.String("arch", strings.Join(architectures, ","), "`architectures` to build for, as Go names them")
	only := flags.String("only", strings.Join(productNames(), ","), "`products` to build")
	err := flags.Parse(args)
	if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there are no arguments such as %q", flags.Arg(0))
	}
	if r.arches, err = choose("-arch", *arches, architectures); err != nil {
		return err
	}
	names, err := choose("-only", *only, productNames())
	if err != nil {
		return err
	}
	for _, p := range products {
		if slices.Contains(names, p.name) {
			r.products = append(r.products, p)
		}
	}
	return r.build()
}

// choose returns the members of a comma-separated list, in the order of known. A member that is not known is an error.
func choose(flag, list string, known []string) (chosen []string, err error) {
	named := strings.Split(list, ",")
	for _, name := range named {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: %q is none of %s", flag, name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(named, name) }), nil
}
