package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is one run: what is built, from where to where.
type release struct {
	root, out      string
	version        string
	time           time.Time // of everything that has one
	arches         []string
	products       []product
	progress, errs io.Writer
	work           string // a directory for what is not shipped as it is
	made           string // the directory that becomes out
}

// versionPattern admits what git describe prints, and what is a tag of an image.
var versionPattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// build builds everything, and replaces the directory out when all of it is there.
func (r *release) build() (err error) {
	if !versionPattern.MatchString(r.version) {
		return fmt.Errorf("-version: %q must begin with a letter or digit, followed by these, or by . _ -", r.version)
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return fmt.Errorf("-root: %w", err)
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if err := r.mayReplace(); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if r.time, err = sourceDate(r.root); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "canopy-dist"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	r.made = filepath.Join(r.work, "made")
	if err := os.Mkdir(r.made, 0o755); err != nil {
		return err
	}
	for _, p := range r.products {
		if err := r.buildProduct(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := writeSums(r.made); err != nil {
		return err
	}
	return r.replace()
}

func (r *release) buildProduct(p product) error {
	if err := r.documents(p); err != nil {
		return err
	}
	for _, arch := range r.arches {
		if err := r.programs(p, arch); err != nil {
			return err
		}
	}
	if err := r.licenses(p); err != nil {
		return err
	}
	for _, arch := range r.arches {
		for _, program := range p.programs {
			if err := r.sbom(p, program, arch); err != nil {
				return fmt.Errorf("the SBOM of %s: %w", program, err)
			}
		}
		if err := r.archive(p, arch); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if p.debian != nil {
			if err := r.debian(p, arch); err != nil {
				return fmt.Errorf("package for Debian: %w", err)
			}
		}
	}
	if err := r.image(p); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}

// finished returns the path of a new file to ship, and reports it.
func (r *release) finished(format string, args ...any) string {
	name := fmt.Sprintf(format, args...)
	fmt.Fprintln(r.progress, name)
	return filepath.Join(r.made, name)
}

// program returns where a built program is.
func (r *release) program(name, arch string) string {
	return filepath.Join(r.work, "linux_"+arch, name)
}

// sourceDate returns SOURCE_DATE_EPOCH, or the time of the commit.
func sourceDate(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit is not known, set SOURCE_DATE_EPOCH: git log: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("no number of seconds since 1970 in SOURCE_DATE_EPOCH: %q", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// mayReplace refuses an out that has files of somebody else.
func (r *release) mayReplace() error {
	entries, err := os.ReadDir(r.out)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.out, sumsName)); err != nil {
		return fmt.Errorf("%s has files and no %s: it is not an earlier output, and is not replaced", r.out, sumsName)
	}
	return nil
}

// replace puts what was made in the place of out.
func (r *release) replace() error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.CopyFS(r.out, os.DirFS(r.made))
}
