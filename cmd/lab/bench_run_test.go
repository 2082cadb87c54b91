package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

func TestBenchRun_InvalidFlagsAreRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("old.html", []byte("old"), 0o600))
	for _, c := range []struct{ args, want string }{
		{"--suite dept", `there is no suite "dept": did you mean "depth"?; canopy-lab bench list shows them`},
		{"--suite depth --depth 3", "--suite has workloads of its own: --depth cannot be given with it"},
		{"--suite depth --asks 3 --rate 1", "--suite has workloads of its own: --asks, --rate cannot be given with it"},
		{"--suite=", "--suite names no suite"},
		{"--suite flat,flat", "suite flat is there twice"},
		{"--suite reload --via grpc", "suite reload is measured via core: it cannot be measured via grpc"},
		{"--suite trace", "suite trace needs the files of a trace: --trace NODES.csv,PODS.csv"},
		{"--suite trace --trace nodes.csv", `--trace names two files, NODES.csv,PODS.csv, not "nodes.csv"`},
		{"--suite trace --trace nodes.csv,pods.csv", "nodes.csv: no such file or directory"},
		{"--suite depth,flat --trace nodes.csv,pods.csv",
			"--trace is for the suites trace and backfill-openb, and --suite is depth,flat"},
		{"--trace nodes.csv,pods.csv --asks 3", "--trace is for suites, not for a workload of your own"},
		{"--depth 9 --fanout 9", "--depth 9 with --fanout 9 makes more than 200000 queues"},
		{"--asks 0 --nodes -1", "--asks is 0, and must be from 1 to 5000000; --nodes is -1, and must be from 1 to 200000"},
		{"--sort lifo", `--sort is "lifo", and must be one of fifo, fair, stateaware`},
		{"--suite preempt --victims 3", "--suite has workloads of its own: --victims cannot be given with it"},
		{"--victims 3 --at-once 2", "--victims, --at-once needs --preemptors"},
		{"--preemptors 10 --asks 19", "10 --preemptors with --victims 1 take more than half of 19 --asks"},
		{"--preemptors 10 --via grpc", "--preemptors are measured via core: they cannot be measured via grpc"},
		{"--preemptors 10 --victims 100 --nodes 1000", "with --victims 100 a preemptor takes "},
		{"--suite preempt --via grpc", "suite preempt is measured via core: it cannot be measured via grpc"},
		{"--saturation 2 --asks 100 --nodes 10000", "use fewer --nodes or more --asks"},
		{"--rate 10", "--rate needs --via inprocess or grpc: the core alone has no clock to be late by"},
		{"--quick --asks 10", "--quick is about suites: --asks cannot be given with it"},
		{"--runs 0", "--runs is 0, and must be from 1 to 1000"},
		{"--output xml", `invalid argument "xml" for "--output" flag: it must be text or json`},
		{"--html no/such/file.html", "--html: open no/such/file.html: no such file or directory"},
		{"--html=", "--html names no file"},
		{"--html .", "--html: open .: is a directory"},
		{"--cpuprofile cpu", "--cpuprofile is about one workload, and 3"},
		{"--asks 10 --memprofile no/mem", "--memprofile: open no/mem: no such file or directory"},
		{"--asks many", `invalid argument "many" for "--asks" flag`},
		{"--nonsense", "unknown flag: --nonsense"},
		{"extra", `bench run takes no argument such as "extra"`},
		{"--suite depthh --html old.html", `did you mean "depth"?`},
	} {
		code, out, errs := runLab(append([]string{"bench", "run"}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, cmdline.Usage, "%s: %s", c.args, errs)
		assert.Equal(t, out, "", c.args)
		assert.Assert(t, strings.Contains(errs, c.want), "%s: %s", c.args, errs)
		first, _, _ := strings.Cut(errs, "\nRun 'canopy --help'")
		assert.Equal(t, strings.Count(strings.TrimSpace(first), "\n"), 0, "%s: %q", c.args, errs)
	}
	files, err := os.ReadDir(".")
	assert.NilError(t, err)
	assert.Equal(t, len(files), 1, "no file is created: %v", files)
	text, err := os.ReadFile("old.html")
	assert.NilError(t, err)
	assert.Equal(t, string(text), "old")
}

func TestBenchList(t *testing.T) {
	code, out, errs := runLab("bench", "list")
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, strings.Count(out, "\n"), len(bench.SuiteNames()))
	for _, name := range bench.SuiteNames() {
		assert.Assert(t, strings.Contains("\n"+out, "\n"+name+" "), "%s in\n%s", name, out)
	}
	code, out, _ = runLab("bench", "list", "--output", "json")
	assert.Equal(t, code, 0)
	var got struct {
		Suites []struct{ Name, About string }
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, len(got.Suites), len(bench.SuiteNames()))
	code, _, _ = runLab("bench", "list", "--output", "xml")
	assert.Equal(t, code, cmdline.Usage)
	code, out, _ = runLab("bench")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, "canopy-lab bench compare") && !strings.Contains(out, sampleCommand), out)
	code, _, errs = runLab("bench", "nonsense")
	assert.Equal(t, code, cmdline.Usage, errs)
}

func TestBenchRun_SamplesAreProcesses(t *testing.T) {
	file := labProgram(t)
	t.Chdir(t.TempDir())
	measure := func(to string, more ...string) string {
		t.Helper()
		args := []string{
			"bench", "run", "--depth", "2", "--fanout", "3", "--asks", "500", "--nodes", "20", "--runs", "2", "--output", "json",
		}
		cmd := exec.Command(file, append(args, more...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		assert.NilError(t, cmd.Run(), "%s", &errs)
		assert.NilError(t, os.WriteFile(to, out.Bytes(), 0o600))
		return errs.String()
	}
	errs := measure("one.json", "--html", "one.html", "--cpuprofile", "cpu.pprof")
	for _, want := range []string{
		"1 of 2: custom custom, run 1 of 2, about ", "2 of 2: custom custom, run 2 of 2\n",
	} {
		assert.Assert(t, strings.Contains(errs, want), errs)
	}
	r, err := readBenchReport("one.json")
	assert.NilError(t, err)
	c := r.Suites[0].Cells[0]
	assert.Equal(t, len(c.Samples), 2)
	assert.Equal(t, c.Failure+r.Incomplete, "")
	assert.Equal(t, c.Samples[1]["allocations"], 500.0)
	for _, name := range []string{"one.html", "cpu.pprof"} {
		info, err := os.Stat(name)
		assert.NilError(t, err)
		assert.Assert(t, info.Size() > 0, name)
	}

	measure("two.json")
	other, err := readBenchReport("two.json")
	assert.NilError(t, err)
	assert.Equal(t, other.Suites[0].Cells[0].Digest, c.Digest)
	code, out, _ := runLab("bench", "compare", "one.json", "two.json")
	assert.Equal(t, code, 0, out)
	assert.Assert(t, strings.Contains(out, "0 worse"), out)
}

// The page is written although standard output is a closed pipe, as with head: a run takes an hour.
func TestBenchRun_BrokenPipeStillWritesHTML(t *testing.T) {
	for _, output := range []string{"text", "json"} {
		page := filepath.Join(t.TempDir(), "page.html")
		cmd := exec.Command(labProgram(t), "bench", "run", "--asks", "100", "--nodes", "5", "--runs", "1", "--output",
			output, "--html", page)
		reader, writer, err := os.Pipe()
		assert.NilError(t, err)
		assert.NilError(t, reader.Close())
		cmd.Stdout = writer
		err = cmd.Run()
		assert.NilError(t, writer.Close())
		failed := new(exec.ExitError)
		assert.Assert(t, errors.As(err, &failed), "writing to a closed pipe: %v", err)
		text, err := os.ReadFile(page)
		assert.NilError(t, err)
		assert.Assert(t, bytes.Contains(text, []byte("</html>")), "%s", text)
	}
}

func TestBenchRun_InterruptKeepsResults(t *testing.T) {
	file := labProgram(t)
	page := filepath.Join(t.TempDir(), "page.html")
	cmd := exec.Command(file, "bench", "run", "--asks", "500", "--nodes", "20", "--runs", "1000", "--output", "json",
		"--html", page)
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	assert.Assert(t, lines.Scan())
	assert.Assert(t, strings.HasPrefix(lines.Text(), "1 of 1000: "), lines.Text())
	assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	err = cmd.Wait()
	assert.ErrorContains(t, err, "exit status 1")
	assert.Assert(t, strings.HasPrefix(last, "canopy-lab: interrupted after "), last)
	r, err := report.ReadReport(&out)
	assert.NilError(t, err)
	assert.Equal(t, "canopy-lab: "+r.Incomplete, last)
	c := r.Suites[0].Cells[0]
	assert.Assert(t, len(c.Samples) > 0)
	assert.Equal(t, c.Failure, fmt.Sprintf("%d of 1000 runs were not made", 1000-len(c.Samples)))
	text, err := os.ReadFile(page)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(text), r.Incomplete))
}

func TestBenchSample_EndsWithItsParent(t *testing.T) {
	cmd := exec.Command(labProgram(t), "bench", sampleCommand)
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	spec := workload.DefaultSpec()
	spec.Via, spec.Rate = workload.ViaInProcess, 100 // takes minutes
	assert.NilError(t, json.NewEncoder(in).Encode(bench.Job{Spec: spec, Measure: bench.Steady}))
	assert.NilError(t, in.Close())
	assert.ErrorContains(t, cmd.Wait(), "exit status 1")
}
