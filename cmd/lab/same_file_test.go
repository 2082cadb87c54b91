package main

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func TestRefuseSameFile_ComparesFilesAndNotNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	assert.NilError(t, os.WriteFile("a.csv", nil, 0o600))
	assert.NilError(t, os.Symlink("a.csv", "link.csv"))
	for name, want := range map[string]string{
		"":        "",
		"b.csv":   "",
		"a.csv":   "--decisions and --nodes name the same file, a.csv, which would be overwritten",
		"./a.csv": "--decisions and --nodes name the same file, ./a.csv, which would be overwritten",
		filepath.Join(dir, "a.csv"): "--decisions and --nodes name the same file, " + filepath.Join(dir,
			"a.csv") + ", which would be overwritten",
		"link.csv": "--decisions and --nodes name the same file, link.csv, which would be overwritten",
		filepath.Join(dir, "new.csv"): "--decisions and --pods name the same file, " + filepath.Join(dir,
			"new.csv") + ", which would be overwritten",
	} {
		err := refuseSameFile(namedFile{"decisions", name}, namedFile{"config", ""}, namedFile{"nodes", "a.csv"},
			namedFile{"pods", "new.csv"})
		if want == "" {
			assert.NilError(t, err, name)
		} else {
			assert.Error(t, err, want)
		}
	}
}
