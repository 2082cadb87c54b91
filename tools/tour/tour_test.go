package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestExtract_TakesCommandsAndOutput(t *testing.T) {
	got := extract(strings.Join([]string{
		"# A tour", "```", "$ not this", "```", "```console", "$ one \\", "  two", "out 1  ", "", "out 2", "",
		"$ three &  # and more", "$ four   # exit code 2: it differs", "```", "$ nor this", "```console", "$ five", "", "```",
	}, "\n"))
	want := []step{
		{line: 6, command: "one \\\n  two", prints: []string{"out 1", "", "out 2"}},
		{line: 12, command: "three &  # and more"},
		{line: 13, command: "four   # exit code 2: it differs", exit: 2},
		{line: 17, command: "five"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nand not\n%+v", got, want)
	}
	for i, background := range []bool{false, true, false, false} {
		if got[i].inBackground() != background {
			t.Errorf("%q: in the background: %v", got[i].command, !background)
		}
	}
}

func TestMatches_Wildcards(t *testing.T) {
	for _, tc := range []struct {
		shown, said string
		want        bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a\nb", "\n\na\nb  \n\n", true},
		{"a", "a\nb\n", false},
		{"a\nb", "b\na\n", false},
		{"a ... c", "a b c", true},
		{"a ... c", "a c", false},
		{"a...c", "ac", true},
		{"a...c", "a\nc", false},
		{"a\n...\nd", "a\nb\nc\nd", true},
		{"a\n...\nd", "a\nd", true},
		{"a\n...", "a\nb\nc", true},
		{"...\nc", "a\nb\nc", true},
		{"...\nb", "a\nb\nc", false},
		{"a.c", "abc", false},
		{"{\"x\":1}", "{\"x\":1}\n", true},
	} {
		if got := matches(strings.Split(tc.shown, "\n"), tc.said); got != tc.want {
			t.Errorf("%q against %q: %v", tc.said, tc.shown, got)
		}
	}
}

// followText runs the commands of a text in an empty directory.
func followText(t *testing.T, text string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	err = follow(context.Background(), "README.md", extract("```console\n"+text+"\n```"), t.TempDir(), 10*time.Second, &b)
	return b.String(), err
}

func TestFollow_SharesOneShell(t *testing.T) {
	out, err := followText(t, `$ mkdir there && cd there
$ x=1; echo hello >file
$ cat file; echo $x
hello
1
$ false   # exit code 1
$ cat
$ ls nowhere 2>&1   # exit code 2
ls: ...
$ (read line <file; echo "$line"; sleep 0.1; echo later; exec sleep 100) &
hello
later
$ kill %1; wait
$ jobs
`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out, "\n9 commands did what README.md says\n") {
		t.Error(out)
	}
}

func TestFollow_ReportsDifferences(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a command that fails", "$ false", "README.md:2: $ false\nexit code 1, not 0"},
		{"one that should fail", "$ true # exit code 1", "exit code 0, not 1"},
		{"the first of a pipe", "$ false | cat", "exit code 1, not 0"},
		{"another output", "$ echo a\nb", "it should have printed:\n  b\nit printed:\n  a"},
		{"too much output", "$ seq 3\n1\n2", "it should have printed:"},
		{"no output", "$ true\nsomething", "it should have printed:\n  something"},
		{"a shell that ends", "$ exit 3", "the shell has ended"},
		{"a command that does not exist", "$ nonesuch", "exit code 127, not 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := followText(t, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestFollow_TimesOut(t *testing.T) {
	err := follow(context.Background(), "x", extract("```console\n$ echo begun; sleep 100\n```"), t.TempDir(),
		100*time.Millisecond, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "it is not done after 100ms\nit printed:\n  begun") {
		t.Error(err)
	}
}

// Background jobs are killed at the end.
func TestFollow_KillsBackgroundJobs(t *testing.T) {
	dir := t.TempDir()
	err := follow(context.Background(), "x", extract("```console\n$ sleep 100 & echo $! >pid\n```"), dir, 10*time.Second,
		&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	// The process is gone, or a zombie. On other systems than Linux this checks nothing.
	stat := filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat")
	for range 100_000 {
		if text, err := os.ReadFile(stat); err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
	}
	t.Errorf("process %s still runs", pid)
}

func TestTour_RunsInCopyOfTrackedFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	for name, text := range map[string]string{
		".gitignore": "ignored\n", "ignored": "", "deep/file": "", "removed": "",
		"README.md": "```console\n$ ls -A . deep; echo x >made\n.:\n.gitignore\nREADME.md\ndeep\n\ndeep:\nfile\n```\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LC_ALL", "C")
	git("add", "removed")
	if err := os.Remove("removed"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tour(context.Background(), "README.md", 10*time.Second, &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("made"); !os.IsNotExist(err) {
		t.Error("the command has run in the repository itself")
	}
	if err := os.WriteFile("empty.md", []byte("$ ls\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tour(context.Background(), "empty.md", time.Second, &out); err == nil {
		t.Error("a file without commands shows nothing")
	}
}
