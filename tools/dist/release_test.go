package main

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Programs are static, of the architecture that their name says, without what debuggers need; and they run.
func TestPrograms_AreStaticAndOfTheirArchitecture(t *testing.T) {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, p := range builtProducts() {
		for _, arch := range architectures {
			dir := unpacked(t, p, arch)
			for _, program := range p.programs {
				file := filepath.Join(dir, program)
				f, err := elf.Open(file)
				assert.NilError(t, err)
				assert.Equal(t, f.Machine, machines[arch], file)
				assert.Assert(t, f.Section(".debug_info") == nil && f.Section(".symtab") == nil, file)
				for _, segment := range f.Progs {
					assert.Assert(t, segment.Type != elf.PT_INTERP && segment.Type != elf.PT_DYNAMIC, "%s is not static", file)
				}
				assert.NilError(t, f.Close())
				if arch != runtime.GOARCH || program == "canopy-kubernetes" { // which says no version
					continue
				}
				ask := "version"
				if program == "canopy-shim-kubernetes" {
					ask = "--version"
				}
				assert.Assert(t, strings.HasPrefix(command(t, file, ask), program+" "+testVersion+"\n"), file)
			}
		}
	}
}

func TestArchive_HasDocuments(t *testing.T) {
	for _, p := range builtProducts() {
		dir := unpacked(t, p, "amd64")
		for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			assert.NilError(t, err)
			want, err := os.ReadFile(filepath.Join(repository, name))
			assert.NilError(t, err)
			assert.Equal(t, string(got), string(want), name)
		}
		licenses, err := os.ReadFile(filepath.Join(dir, "THIRD_PARTY_LICENSES"))
		assert.NilError(t, err)
		wanted := []string{"the Go runtime and standard library: LICENSE", `google\.golang\.org/grpc v\S+: LICENSE`,
			`google\.golang\.org/grpc v\S+: NOTICE\.txt`}
		if p.name == "canopy-shim-kubernetes" {
			wanted = append(wanted, `k8s\.io/client-go v\S+: LICENSE`)
		} else {
			wanted = append(wanted, `modernc\.org/sqlite v\S+: LICENSE`)
		}
		for _, file := range wanted {
			assert.Assert(t, regexp.MustCompile("(?m)^==== "+file+"$").Match(licenses), file)
		}
	}
}

// Shells read the completions, and bash completes with the installed program.
func TestCompletions_AreRead(t *testing.T) {
	dir := unpacked(t, products[0], runtime.GOARCH)
	for _, program := range products[0].programs {
		for _, shell := range []string{"bash", "zsh", "fish"} {
			_, err := exec.LookPath(shell)
			if err != nil {
				t.Logf("there is no %s", shell)
				continue
			}
			out := command(t, shell, "-n", filepath.Join(dir, "completions", program+"."+shell))
			assert.Equal(t, out, "", shell)
		}
	}
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		t.Skipf("bash cannot complete: there is no %s", library)
	}
	cmd := exec.Command("bash", "-c", `source "$1" && source completions/canopy.bash || exit
		compopt() { :; } # it works within a completion only
		COMP_LINE='canopy pre' COMP_POINT=10 COMP_TYPE=9 COMP_WORDS=(canopy pre) COMP_CWORD=1
		__start_canopy
		echo "${COMPREPLY[@]}"`, "complete", library)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	assert.Equal(t, output(t, cmd), "preempt\n")
}

// The man pages have the date of the release, and groff has no warning.
func TestManPages_Render(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(unpacked(t, products[0], "amd64"), "man/man1/*.1"))
	assert.NilError(t, err)
	assert.Assert(t, len(pages) > 40, "%d pages", len(pages))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), `"1" "Nov 2023" "canopy`), page)
	}
	need(t, "groff")
	assert.Equal(t, command(t, "groff", append([]string{"-man", "-ww", "-z", "-Tutf8"}, pages...)...), "")
}

func TestSums_AreThoseOfAllFiles(t *testing.T) {
	dir := distribution(t)
	cmd := exec.Command("sha256sum", "--check", "--strict", sumsName)
	cmd.Dir = dir
	checked := strings.Count(output(t, cmd), ": OK\n")
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, checked, len(entries)-1)
}

// A copy of the repository in another directory gives the same bytes. make nightly compiles everything once more for
// it; otherwise packages come from the cache, and programs are linked again.
func TestRelease_IsReproducible(t *testing.T) {
	dir := distribution(t)
	copied := filepath.Join(t.TempDir(), "elsewhere", "canopy")
	files := command(t, "git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.FieldsFuncSeq(files, func(r rune) bool { return r == 0 }) {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if os.IsNotExist(err) {
			continue // removed, not yet committed
		}
		assert.NilError(t, err)
		to := filepath.Join(copied, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(to), 0o777))
		assert.NilError(t, os.WriteFile(to, text, 0o666))
	}
	args := []string{"-root", copied, "-version", testVersion, "-only", "canopy"}
	if everything() {
		t.Setenv("GOCACHE", t.TempDir())
	} else {
		args = append(args, "-arch", "amd64")
	}
	t.Setenv("TZ", "Pacific/Kiritimati") // where it is another day
	assert.NilError(t, run(args, io.Discard, os.Stderr))
	again, err := os.ReadDir(filepath.Join(copied, "dist"))
	assert.NilError(t, err)
	compared := 0
	for _, e := range again {
		want, err := sha256Of(filepath.Join(dir, e.Name()))
		assert.NilError(t, err, "the first build does not have it")
		if !everything() && (e.Name() == sumsName || strings.HasSuffix(e.Name(), "_image.tar")) {
			continue // these have both architectures
		}
		got, err := sha256Of(filepath.Join(copied, "dist", e.Name()))
		assert.NilError(t, err)
		assert.Equal(t, got, want, e.Name())
		compared++
	}
	assert.Assert(t, compared >= 4, "%d files", compared)
}
