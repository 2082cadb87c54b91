package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// How programs and documents are built.

// programs builds the programs of a product with make: what it says is said once.
func (r *release) programs(p product, arch string) error {
	cmd := exec.Command("make", "--no-print-directory", p.target, "VERSION="+r.version,
		"BIN="+filepath.Dir(r.program("", arch)+"/"), "LDFLAGS=-s -w")
	// What the environment of a developer may have for other builds, and what would change the bytes.
	return r.command(cmd, "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
		"GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
}

// documents has the tests of the commands leave man pages and completions, if the product has any.
func (r *release) documents(p product) error {
	if p.tests == nil {
		return nil
	}
	args := append([]string{"test", "-count=1", "-run", "^TestCommands_DocumentsAreWritten$"}, p.tests...)
	cmd := exec.Command("go", append(args, "-args", "-documents", filepath.Join(r.work, "documents"))...)
	return r.command(cmd, "GOFLAGS=-trimpath", "TZ=UTC", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
}

// pages returns the man pages of a product, and completion the file for a shell.
func (r *release) pages(p product) ([]string, error) {
	if p.tests == nil {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(r.work, "documents", "man", "*.1"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s have left no man pages", strings.Join(p.tests, ", "))
	}
	return found, err
}

func (r *release) completion(program, shell string) string {
	return filepath.Join(r.work, "documents", "completions", program+"."+shell)
}

// command runs a command in the repository with further variables. Its output goes to the standard error.
func (r *release) command(cmd *exec.Cmd, env ...string) error {
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, r.errs, r.errs
	// A make around this one must not pass its own variables on.
	cmd.Env = append(os.Environ(), append(env, "MAKEFLAGS=", "MAKEOVERRIDES=")...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}
