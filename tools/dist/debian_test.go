package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// packageOf returns the Debian package of a product for this machine.
func packageOf(t *testing.T, product string) string {
	t.Helper()
	return filepath.Join(distribution(t), product+"_0.0.0~test_"+runtime.GOARCH+".deb")
}

// needRoot skips the test unless it runs as root, who alone may give files to others.
func needRoot(t *testing.T) {
	t.Helper()
	u, err := user.Current()
	assert.NilError(t, err)
	if u.Uid != "0" {
		t.Skip("it needs root")
	}
}

// dpkg runs dpkg on a directory that stands for a machine without anything. The scripts of the package run outside of
// it, and are told of it.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	args = append([]string{"--root=" + root, "--force-script-chrootless", "--force-depends"}, args...)
	cmd := exec.Command("dpkg", args...)
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	return output(t, cmd)
}

func newMachine(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range []string{"etc", "var/log", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		assert.NilError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	assert.NilError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
	return root
}

func exists(t *testing.T, file string) bool {
	t.Helper()
	_, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	assert.NilError(t, err)
	return true
}

// laterPackage returns the package with a later version and nothing else changed.
func laterPackage(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "canopy")
	command(t, "dpkg-deb", "-R", packageOf(t, "canopy"), dir)
	control := filepath.Join(dir, "DEBIAN/control")
	text, err := os.ReadFile(control)
	assert.NilError(t, err)
	later := strings.Replace(string(text), "Version: 0.0.0~test\n", "Version: 0.0.1\n", 1)
	assert.Assert(t, later != string(text))
	assert.NilError(t, os.WriteFile(control, []byte(later), 0o644))
	file := dir + ".deb"
	command(t, "dpkg-deb", "-Zgzip", "-z1", "-b", dir, file)
	return file
}

func TestDebian_InstallsUpgradesAndPurges(t *testing.T) {
	needRoot(t)
	need(t, "dpkg", "systemd-sysusers", "deb-systemd-helper")
	root := newMachine(t)
	dpkg(t, root, "-i", packageOf(t, "canopy"))
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains("\n"+string(passwd), "\ncanopy:"), "%s", passwd)
	enabled := filepath.Join(root, "etc/systemd/system/multi-user.target.wants/canopy.service")
	assert.Assert(t, exists(t, enabled))

	queues, options := filepath.Join(root, "etc/canopy/queues.yaml"), filepath.Join(root, "etc/default/canopy")
	shipped, err := os.ReadFile(options)
	assert.NilError(t, err)
	mine := string(shipped) + "# mine\n"
	assert.NilError(t, os.WriteFile(options, []byte(mine), 0o644))
	assert.NilError(t, os.Remove(enabled))
	history := filepath.Join(root, "var/lib/canopy/config.db")
	assert.NilError(t, os.MkdirAll(filepath.Dir(history), 0o700))
	assert.NilError(t, os.WriteFile(history, nil, 0o600))

	dpkg(t, root, "-i", laterPackage(t))
	kept, err := os.ReadFile(options)
	assert.NilError(t, err)
	assert.Equal(t, string(kept), mine, "an upgrade keeps what was edited")
	assert.Assert(t, !exists(t, enabled), "and a service that was disabled")

	dpkg(t, root, "-r", "canopy")
	assert.Assert(t, !exists(t, filepath.Join(root, "usr/bin/canopy")))
	assert.Assert(t, exists(t, queues) && exists(t, options) && exists(t, history))
	dpkg(t, root, "-P", "canopy")
	assert.Assert(t, !exists(t, filepath.Dir(queues)) && !exists(t, options) && !exists(t, filepath.Dir(history)))
}

// The shim needs a kubeconfig to start, so it is not enabled. What an administrator has edited stays, until the package
// is purged.
func TestDebian_ShimInstallsAndPurges(t *testing.T) {
	needRoot(t)
	need(t, "dpkg", "deb-systemd-helper")
	const name = "canopy-shim-kubernetes"
	root := newMachine(t)
	dpkg(t, root, "-i", packageOf(t, name))
	program := filepath.Join(root, "usr/bin", name)
	assert.Equal(t, command(t, program, "--version"), name+" "+testVersion+"\n")
	enabled := filepath.Join(root, "etc/systemd/system/multi-user.target.wants", name+".service")
	assert.Assert(t, !exists(t, enabled))
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system", name+".service"))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(unit), "\nExecStart=/usr/bin/"+name+" "), "%s", unit)

	kubeconfig := filepath.Join(root, "etc", name, "kubeconfig")
	assert.NilError(t, os.MkdirAll(filepath.Dir(kubeconfig), 0o700))
	assert.NilError(t, os.WriteFile(kubeconfig, nil, 0o600))
	options := filepath.Join(root, "etc/default", name)
	dpkg(t, root, "-r", name)
	assert.Assert(t, !exists(t, program) && exists(t, options) && exists(t, kubeconfig))
	dpkg(t, root, "-P", name)
	assert.Assert(t, !exists(t, options) && !exists(t, filepath.Dir(kubeconfig)))
}

// The command of the unit serves with the files that the package has installed, until SIGTERM.
func TestDebian_ServiceServesAndEnds(t *testing.T) {
	root := t.TempDir()
	need(t, "dpkg-deb")
	command(t, "dpkg-deb", "-x", packageOf(t, "canopy"), root)
	args := serviceCommand(t, root)
	for i, a := range args {
		if strings.HasPrefix(a, "/") {
			args[i] = root + a
		}
	}
	assert.NilError(t, os.MkdirAll(filepath.Join(root, "var/lib/canopy"), 0o700))
	serves(t, exec.Command(args[0], args[1:]...))
	assert.Assert(t, exists(t, filepath.Join(root, "var/lib/canopy/config.db")), "the history is in the data directory")
}

// On a Debian that boots, systemd runs the services in their sandboxes: they start, follow their files, and are
// repaired.
func TestDebian_ServiceOnDebian(t *testing.T) {
	if !everything() {
		t.Skip("it downloads and boots a Debian: make nightly does it")
	}
	needRoot(t)
	need(t, "debootstrap", "systemd-nspawn")
	root := t.TempDir()
	command(t, "debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv", "bookworm", root)
	command(t, "cp", packageOf(t, "canopy"), filepath.Join(root, "canopy.deb"))
	command(t, "cp", packageOf(t, "canopy-shim-kubernetes"), filepath.Join(root, "shim.deb"))
	command(t, "chroot", root, "dpkg", "-i", "/canopy.deb", "/shim.deb")
	command(t, "install", "testdata/service.sh", filepath.Join(root, "service.sh"))
	const unit = "[Unit]\nAfter=multi-user.target\nSuccessAction=poweroff\nFailureAction=poweroff\n" +
		"[Service]\nExecStart=/service.sh\n"
	assert.NilError(t, os.WriteFile(filepath.Join(root, "etc/systemd/system/test.service"), []byte(unit), 0o644))
	wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants/test.service")
	assert.NilError(t, os.Symlink("../test.service", wants))
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	boot := exec.CommandContext(ctx, "systemd-nspawn", "--private-network", "--keep-unit", "--register=no", "--boot",
		"-D", root)
	booted, err := boot.CombinedOutput()
	log, readErr := os.ReadFile(filepath.Join(root, "service.log"))
	assert.NilError(t, readErr, "%v\n%s", err, booted)
	assert.Assert(t, strings.HasSuffix(string(log), "\npassed\n"), "%s", log)
}

// systemd and lintian find nothing wrong.
func TestDebian_HasNoWarnings(t *testing.T) {
	for _, p := range builtProducts() {
		if p.debian == nil {
			continue
		}
		t.Run(p.name+"/systemd", func(t *testing.T) {
			need(t, "dpkg-deb", "systemd-analyze")
			root, service := t.TempDir(), p.name+".service"
			command(t, "dpkg-deb", "-x", packageOf(t, p.name), root)
			unit := filepath.Join(root, "unit", service)
			text, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system", service))
			assert.NilError(t, err)
			// The programs of the command lines must exist on this machine.
			text = []byte(strings.ReplaceAll(string(text), "=/usr/bin/", "="+root+"/usr/bin/"))
			assert.NilError(t, os.Mkdir(filepath.Dir(unit), 0o755))
			assert.NilError(t, os.WriteFile(unit, text, 0o644))
			assert.Equal(t, command(t, "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit), "")
		})
		t.Run(p.name+"/lintian", func(t *testing.T) {
			if !everything() {
				t.Skip("it takes a minute: make nightly does it")
			}
			need(t, "lintian")
			out := command(t, "lintian", "--allow-root", "--fail-on", "error,warning", packageOf(t, p.name))
			assert.Equal(t, out, "")
		})
	}
}

// serviceCommand returns the command line of the installed unit, as systemd reads it: with the options of
// /etc/default/canopy, here with ports that are free.
func serviceCommand(t *testing.T, root string) []string {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/canopy.service"))
	assert.NilError(t, err)
	line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)
	file := regexp.MustCompile(`(?m)^EnvironmentFile=-(.*)$`).FindSubmatch(unit)
	assert.Assert(t, line != nil && file != nil)
	variables, err := os.ReadFile(filepath.Join(root, string(file[1])))
	assert.NilError(t, err)
	const shipped = "\nCANOPY_OPTIONS=\"\"\n"
	assert.Assert(t, strings.HasSuffix(string(variables), shipped))
	var args []string
	for word := range strings.FieldsSeq(string(line[1])) {
		if word == "$CANOPY_OPTIONS" {
			args = append(args, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
			continue
		}
		args = append(args, word)
	}
	assert.Equal(t, args[len(args)-1], "127.0.0.1:0", "options are given last")
	return args
}

// serves starts a server, and fails the test unless it is healthy, has the queue of the configuration, survives a
// reload and ends without an error on SIGTERM.
func serves(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	assert.NilError(t, cmd.Start())
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		ended = true
		t.Fatalf("%v: %v\n%s", cmd.Args, cmd.Wait(), &log)
	}
	address := regexp.MustCompile(`http=(\S+)`).FindStringSubmatch(line)
	assert.Assert(t, address != nil, line)
	client := http.Client{Timeout: 10 * time.Second}
	get := func(path string) string {
		answer, err := client.Get("http://" + address[1] + path)
		assert.NilError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		assert.Equal(t, answer.StatusCode, http.StatusOK, "%s: %s", path, body)
		return string(body)
	}
	get("/healthz")
	assert.Assert(t, strings.Contains(get("/ws/v1/partition/default/queues"), `"root.default"`))
	assert.NilError(t, cmd.Process.Signal(syscall.SIGHUP))
	get("/healthz")
	assert.NilError(t, cmd.Process.Signal(syscall.SIGTERM))
	ended = true
	err = cmd.Wait()
	assert.NilError(t, err, "%s", &log)
}
