package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	repository  = "../.."
	testVersion = "v0.0.0-test"
	testEpoch   = "1700000000"
)

// everything reports whether canopy-kubernetes is built, too, which is slow at first: make nightly does it.
func everything() bool { return os.Getenv("CANOPY_TESTS") == "nightly" }

// built builds what a test looks at, once for all tests, and returns where it is.
var built = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "dist")
	args := []string{"-root", repository, "-out", out, "-version", testVersion}
	if !everything() {
		args = append(args, "-only", "canopy,canopy-shim-kubernetes")
	}
	return out, run(args, io.Discard, os.Stderr)
})

// scratch is a directory for all tests of the package.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		scratch, err = os.MkdirTemp("", "canopy-dist-test")
		err = errors.Join(err, os.Setenv("SOURCE_DATE_EPOCH", testEpoch))
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

func distribution(t *testing.T) string {
	t.Helper()
	dir, err := built()
	assert.NilError(t, err)
	return dir
}

// builtProducts returns the products of which the distribution has files.
func builtProducts() []product {
	if everything() {
		return products
	}
	return products[:2]
}

// unpacked returns the directory of an unpacked archive.
func unpacked(t *testing.T, p product, arch string) string {
	t.Helper()
	name := p.name + "_" + testVersion + "_linux_" + arch
	f, err := os.Open(filepath.Join(distribution(t), name+".tar.gz"))
	assert.NilError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	assert.NilError(t, err)
	assert.Assert(t, z.Name == "" && z.ModTime.IsZero(), "gzip has a name or a time")
	dir := t.TempDir()
	untar(t, z, dir)
	return filepath.Join(dir, name)
}

// untar unpacks a tar, and fails the test for an entry that does not belong to root or has another time.
func untar(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		assert.NilError(t, err)
		assert.Assert(t, filepath.IsLocal(h.Name), h.Name)
		assert.Assert(t, h.Uid == 0 && h.Gid == 0 && h.ModTime.Unix() == 1700000000, "%s: %+v", h.Name, h)
		to := filepath.Join(dir, h.Name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		content, err := io.ReadAll(files)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(to, content, h.FileInfo().Mode()))
	}
}

// command runs a command and returns its output, or fails the test.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	return output(t, exec.Command(name, args...))
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s\n%s", strings.Join(cmd.Args, " "), out)
	return string(out)
}

// need skips the test if the machine has no such program.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("there is no %s", p)
		}
	}
}

// A command line that cannot be carried out is refused before anything is built, and the error names what is wrong.
func TestRun_BadInputIsRefused(t *testing.T) {
	foreign := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(foreign, "thesis"), nil, 0o644))
	empty := t.TempDir()
	for _, c := range []struct{ args, epoch, want string }{
		{"-arch mips", testEpoch, `-arch: "mips" is none of amd64, arm64`},
		{"-arch amd64,", testEpoch, `-arch: "" is none of amd64, arm64`},
		{"-only canopy,page", testEpoch, `-only: "page" is none of canopy, canopy-shim-kubernetes, canopy-kubernetes`},
		{"everything", testEpoch, `there are no arguments such as "everything"`},
		{"", testEpoch, `-version: ""`},
		{"-version v1+x", testEpoch, `-version: "v1+x" must begin`},
		{"-version ../x", testEpoch, `-version: "../x" must begin with a letter or digit`},
		{"-version v1 -out " + foreign, testEpoch, foreign + " has files and no SHA256SUMS"},
		{"-version v1 -out " + filepath.Join(foreign, "thesis"), testEpoch, "thesis: not a directory"},
		{"-version v1 -out " + empty, "yesterday", `no number of seconds since 1970 in SOURCE_DATE_EPOCH: "yesterday"`},
		{"-version v1 -out " + empty + " -root " + empty, "", "the time of the commit is not known, set SOURCE_DATE_EPOCH"},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
		err := run(strings.Fields(c.args), io.Discard, io.Discard)
		assert.ErrorContains(t, err, c.want, c.args)
	}
	_, err := os.Stat(filepath.Join(foreign, "thesis"))
	assert.NilError(t, err, "what is refused stays")
}
