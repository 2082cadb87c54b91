package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenseFile matches the names of files that must accompany a program with the code beside them.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([.-].*)?$`)

func (r *release) licensesFile(p product) string {
	return filepath.Join(r.work, p.name, "THIRD_PARTY_LICENSES")
}

// licenses collects the licences of all modules in the programs of a product, and that of Go. Nearly all of them must
// be handed on with the programs.
func (r *release) licenses(p product) error {
	modules := map[module]bool{}
	for _, arch := range r.arches {
		for _, program := range p.programs {
			_, found, err := contents(r.program(program, arch), p.module, r.version)
			if err != nil {
				return err
			}
			for _, m := range found {
				modules[m] = m.sum != ""
			}
		}
	}
	var downloaded []string
	for m, foreign := range modules {
		if foreign {
			downloaded = append(downloaded, m.path+"@"+m.version)
		}
	}
	dirs, err := r.sources(p.module, downloaded)
	if err != nil {
		return err
	}
	return create(r.licensesFile(p), func(w io.Writer) error {
		for _, d := range dirs {
			if err := copyLicenses(w, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// A sourceDir is where the source of a module is, and what it is called.
type sourceDir struct{ name, dir string }

// sources returns the directories of modules, and that of Go. They were downloaded for the build.
func (r *release) sources(in string, modules []string) ([]sourceDir, error) {
	goRoot, err := r.output(in, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := []sourceDir{{"the Go runtime and standard library", strings.TrimSpace(string(goRoot))}}
	out, err := r.output(in, append([]string{"mod", "download", "-json"}, modules...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, sourceDir{m.Path + " " + m.Version, m.Dir})
	}
	slices.SortFunc(dirs, func(a, b sourceDir) int { return cmp.Compare(a.name, b.name) })
	return dirs, nil
}

// output returns what the go command prints in a module.
func (r *release) output(module string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = filepath.Join(r.root, module), r.errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args[:min(3, len(args))], " "), err)
	}
	return out, nil
}

// copyLicenses writes the licence files of a module. That it has none is an error.
func copyLicenses(w io.Writer, d sourceDir) error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", d.name, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(d.dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		_, err = fmt.Fprintf(w, "==== %s: %s\n\n%s\n\n", d.name, e.Name(), bytes.TrimSpace(text))
		if err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s has no file with its licence in %s", d.name, d.dir)
	}
	return nil
}
