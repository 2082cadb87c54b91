package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

func replaceText(t *testing.T, name, text string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
}

// waitForBody repeats a GET until the answer contains a text.
func (s *runningService) waitForBody(path, want string, logs *lockedBuffer) {
	s.t.Helper()
	poll.WaitOn(s.t, func(poll.LogT) poll.Result {
		_, body := s.get(path)
		if strings.Contains(body, want) {
			return poll.Success()
		}
		return poll.Continue("no %q in %s\n%s", want, body, logs)
	}, poll.WithTimeout(30*time.Second), poll.WithDelay(20*time.Millisecond))
}

func waitForLog(t *testing.T, p *program, want string) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if strings.Contains(p.logs.String(), want) {
			return poll.Success()
		}
		return poll.Continue("no %q in\n%s", want, &p.logs)
	}, poll.WithTimeout(30*time.Second), poll.WithDelay(20*time.Millisecond))
}

func TestServe_ChangedConfigFileIsReloaded(t *testing.T) {
	program, dir := buildProgram(t), t.TempDir()
	version := func(name, text string) {
		assert.NilError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		replaceText(t, filepath.Join(dir, name, "queues.yaml"), text)
		assert.NilError(t, os.Symlink(name, filepath.Join(dir, "..tmp")))
		assert.NilError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", oneLeaf)
	file := filepath.Join(dir, "queues.yaml")
	assert.NilError(t, os.Symlink("..data/queues.yaml", file))
	p, s := startServing(t, program, "--config", file)
	s.waitForBody("/ws/v1/config/history", `"source":"file"`, &p.logs)

	version("..2", twoLeaves) // as kubelet updates the volume of a ConfigMap
	s.waitForBody("/ws/v1/partition/default/queues", `"root.b"`, &p.logs)
	version("..3", "partitions: [{queues: [{name: a.b}]}]")
	waitForLog(t, p, "configuration refused")
	version("..4", "")
	waitForLog(t, p, "the document is empty")
	assert.NilError(t, os.Remove(file))
	assert.NilError(t, os.Symlink("..1/queues.yaml", file))
	s.waitForBody("/ws/v1/config/history", `"generation":3`, &p.logs)
	_, body := s.get("/ws/v1/partition/default/queues")
	assert.Assert(t, !strings.Contains(body, `"root.b"`), body)
	p.stop()
}

func TestServe_SIGHUPReloadsConfig(t *testing.T) {
	program, file := buildProgram(t), filepath.Join(t.TempDir(), "queues.yaml")
	replaceText(t, file, oneLeaf)
	p, s := startServing(t, program, "--config", file, "--config-watch=false", "--admin", "--admin-listen", "127.0.0.1:0")
	hup := func() { assert.NilError(t, p.cmd.Process.Signal(syscall.SIGHUP)) }
	replaceText(t, file, twoLeaves)
	hup()
	s.waitForBody("/ws/v1/config/history", `"source":"sighup"`, &p.logs)

	// The configuration is changed over REST; the signal puts the unchanged file in force again.
	code, body := s.post("/ws/v1/config", "application/yaml", oneLeaf)
	assert.Equal(t, code, http.StatusOK, body)
	hup()
	s.waitForBody("/ws/v1/config/history", `"generation":4`, &p.logs)
	assert.NilError(t, os.Remove(file))
	hup()
	waitForLog(t, p, "no such file or directory")
	assert.NilError(t, syscall.Mkfifo(file, 0o600))
	hup()
	waitForLog(t, p, "is not a regular file")
	_, body = s.get("/ws/v1/partition/default/queues")
	assert.Assert(t, strings.Contains(body, `"root.b"`), body)
	p.stop()

	p, s = startServing(t, program)
	hup2 := p.cmd.Process.Signal(syscall.SIGHUP)
	assert.NilError(t, hup2)
	waitForLog(t, p, "there is no file of --config to read again")
	code, _ = s.get("/readyz")
	assert.Equal(t, code, http.StatusOK)
	p.stop()
}

func TestServe_ConfigHistorySurvivesRestart(t *testing.T) {
	program, dir := buildProgram(t), t.TempDir()
	data := filepath.Join(dir, "data")
	admin := []string{"--data-dir", data, "--admin", "--admin-listen", "127.0.0.1:0"}
	p, s := startServing(t, program, admin...)
	for _, text := range []string{oneLeaf, twoLeaves} {
		code, body := s.post("/ws/v1/config", "application/yaml", text)
		assert.Equal(t, code, http.StatusOK, body)
	}
	code, body := s.post("/ws/v1/config/rollback/2", "application/json", "")
	assert.Equal(t, code, http.StatusOK, body)
	assert.Assert(t, strings.Contains(body, `"kind":"removed"`), body)
	code, body = s.post("/ws/v1/priorityclasses", "application/json", `{"name": "high", "value": 5}`)
	assert.Equal(t, code, http.StatusCreated, body)
	_, before := s.get("/ws/v1/config/history")
	code, out, errs := runCanopy("serve", "--data-dir", data)
	assert.Equal(t, code, cmdline.Refused, out)
	assert.Assert(t, strings.Contains(errs, "config.db cannot be used: another process has it open"), errs)
	p.stop()

	p, s = startServing(t, program, admin...)
	_, after := s.get("/ws/v1/config/history")
	assert.Equal(t, after, before)
	_, body = s.get("/ws/v1/priorityclass/high")
	assert.Assert(t, strings.Contains(body, `"value":5`), body)
	_, body = s.get("/ws/v1/partition/default/queues")
	assert.Assert(t, strings.Contains(body, `"root.a"`) && !strings.Contains(body, `"root.b"`), body)
	p.stop()

	file := filepath.Join(dir, "queues.yaml")
	replaceText(t, file, twoLeaves)
	p, s = startServing(t, program, "--data-dir", data, "--config", file)
	_, body = s.get("/ws/v1/config/history")
	assert.Assert(t, strings.HasPrefix(body, `[{"generation":6,"active":true,`), body)
	p.stop()

	replaceText(t, filepath.Join(data, "config.db"), "my diary")
	code, _, errs = runCanopy("serve", "--data-dir", data, "--config", file)
	assert.Equal(t, code, cmdline.Refused)
	assert.Assert(t, strings.Contains(errs, "--data-dir: the history of configurations "+data), errs)
	code, _, errs = runCanopy("serve", "--config-history", "0")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "--config-history is 0"), errs)
}

func TestServe_FileWarningSaysWhenTheFileIsRead(t *testing.T) {
	program, file := buildProgram(t), filepath.Join(t.TempDir(), "queues.yaml")
	replaceText(t, file, oneLeaf)
	const replaces = ", and then replaces this configuration"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"--config", file},
			"--config " + file + " is read again when it changes, on SIGHUP and at a restart" + replaces},
		{[]string{"--config", file, "--config-watch=false"},
			"--config " + file + " is read again on SIGHUP and at a restart" + replaces},
	} {
		p, s := startServing(t, program, append(c.args, "--admin", "--admin-listen", "127.0.0.1:0")...)
		code, body := s.post("/ws/v1/config", "application/yaml", twoLeaves)
		assert.Equal(t, code, http.StatusOK, body)
		assert.Equal(t, strings.Contains(body, replaces), c.want != "", body)
		assert.Assert(t, strings.Contains(body, c.want), body)
		p.stop()
	}
}
