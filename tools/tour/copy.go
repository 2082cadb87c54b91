package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyTracked copies the files that a clone would have.
func copyTracked(from, to string) error {
	names, err := tracked(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// tracked are the files that git tracks or would, or without git all but bin.
func tracked(dir string) (names []string, err error) {
	out, err := exec.Command("git", "-C", dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".git" || rel == "bin"):
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, rel)
		}
		return nil
	})
	return names, err
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return nil // removed, not yet committed
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
