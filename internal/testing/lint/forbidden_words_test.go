package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

// machinePath is an absolute path of one machine. A longer path or an address that contains one of the
// names is not.
var machinePath = regexp.MustCompile(`(?:^|[^\w./~)}%*+-])(/(?:work|home|root|tmp)/)`)

// todoMarker marks work that belongs into an issue. It is written in halves, so that this file passes
// its own rule.
var todoMarker = regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "X" + `XX)\b`)

// forbiddenWords refuses machine paths and notes about postponed work in a text file.
func forbiddenWords(name, text string) []string {
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		for _, unwanted := range []*regexp.Regexp{machinePath, todoMarker} {
			if m := unwanted.FindStringSubmatch(line); m != nil {
				problems = append(problems, fmt.Sprintf("%s:%d: %q does not belong here", name, i+1, m[1]))
			}
		}
	}
	return problems
}

// isText reports whether a file is a text file.
func isText(name string, content []byte) bool {
	return path.Base(name) != "go.sum" && !bytes.ContainsRune(content, 0) && utf8.Valid(content)
}

// tracked returns the files that git tracks or would, or the whole tree without git.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	var names []string
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".git" || rel == "bin"):
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names, err
}

func TestFiles_HaveNoForbiddenWords(t *testing.T) {
	names, err := tracked()
	assert.NilError(t, err)
	read := 0
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, not yet committed
		}
		assert.NilError(t, err)
		if !isText(name, content) {
			continue
		}
		read++
		for _, p := range forbiddenWords(name, string(content)) {
			t.Error(p)
		}
	}
	assert.Assert(t, read >= minFiles, "only %d files: was the tree really read?", read)
}

func TestForbiddenWords_AreFound(t *testing.T) {
	const slash = "/" // apart from the names, as everywhere in this test
	cases := []struct {
		name, text string
		want       []string
	}{
		{
			name: "nobody has somebody else's home",
			text: "go run " + slash + "home/me/canopy",
			want: []string{`a.md:1: "/` + `home/" does not belong here`},
		}, {
			name: "nor a work directory, quoted or not",
			text: "first\n\"" + slash + "work/x\"",
			want: []string{`a.md:2: "/` + `work/" does not belong here`},
		}, {
			name: "nor temporary files at the start of a line",
			text: slash + "tmp/queues.yaml",
			want: []string{`a.md:1: "/` + `tmp/" does not belong here`},
		},
		{name: "an address may contain such a word", text: "https://example.org/work/plan and /ws/v1/root/queue"},
		{name: "so may a path that starts elsewhere", text: "testdata/root/a ./work/b ~/home/c $(HOME)/work/d"},
		{
			name: "work is postponed in an issue, not in the code",
			text: "// TO" + "DO: later\n// FIX" + "ME\n// X" + "XX",
			want: []string{
				`a.md:1: "TO` + `DO" does not belong here`,
				`a.md:2: "FIX` + `ME" does not belong here`,
				`a.md:3: "X` + `XX" does not belong here`,
			},
		},
		{name: "longer words are other words", text: "mktemp canopy.X" + "XXXXX"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, forbiddenWords("a.md", c.text), c.want)
		})
	}
}

func TestIsText(t *testing.T) {
	assert.Assert(t, isText("README.md", []byte("Grüße")))
	assert.Assert(t, !isText("logo.png", []byte("\x89PNG\x00")))
	assert.Assert(t, !isText("a.bin", []byte{0xff, 0xfe}))
	assert.Assert(t, !isText("tools/go.sum", []byte("sums")))
}
