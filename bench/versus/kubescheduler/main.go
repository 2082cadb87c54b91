// Command kubescheduler compares a decision of kube-scheduler with one of Canopy's core, both without an API server.
//
// Of kube-scheduler it measures Scheduler.SchedulePod (snapshot, filters, scores, selection) and Cache.AssumePod with
// the default profile, in this process. Of Canopy it runs `canopy-lab bench run` with the same number of nodes and of
// asks with the same constraint. They take turns, so that a slow minute of the machine hits both.
//
// It is a module of its own, because it builds much of Kubernetes: some minutes, the first time.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"k8s.io/klog/v2"
)

type options struct {
	output      string
	canopy      string
	nodes, pods int
	runs        int
	deadline    time.Duration
	chosen      []workload
}

// parse reads the command line.
func parse(args []string, errs io.Writer) (o options, err error) {
	f := flag.NewFlagSet("kubescheduler", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.output, "output", "text", "print the comparison as `format` text or json (with every run)")
	f.StringVar(&o.canopy, "canopy-lab", "bin/canopy-lab",
		"`program` to compare with; empty: measure kube-scheduler alone")
	f.IntVar(&o.nodes, "nodes", 5000, "`number` of nodes, in three zones in turn")
	f.IntVar(&o.pods, "pods", 2500, "`number` of pods to schedule, at most as many as nodes")
	f.IntVar(&o.runs, "runs", 3, "how many `times` each workload runs in each; figures are medians")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second,
		"`time` after which a run of kube-scheduler is cut off; it counts for the pods scheduled until then")
	list := f.String("workloads", "all", "comma-separated `list` of "+workloadNames()+", or all")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("argument %q: there are only flags", f.Arg(0))
	case o.output != "text" && o.output != "json":
		return o, fmt.Errorf("output %q: must be text or json", o.output)
	case o.runs < 1:
		return o, fmt.Errorf("runs %d: must be a positive number", o.runs)
	case o.pods < 1:
		return o, fmt.Errorf("pods %d: must be a positive number", o.pods)
	case o.pods > o.nodes:
		return o, fmt.Errorf("pods %d: must not be more than nodes, %d: antiaffinity needs a node for each", o.pods, o.nodes)
	case o.deadline <= 0:
		return o, fmt.Errorf("deadline %v: must be a positive time", o.deadline)
	}
	if o.canopy != "" {
		if _, err := exec.LookPath(o.canopy); err != nil {
			return o, fmt.Errorf("canopy-lab %q: must be a program (make build builds bin/canopy-lab): %w", o.canopy, err)
		}
	}
	o.chosen, err = chooseWorkloads(*list)
	return o, err
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with an exit code: 2 for a wrong command line, 1 for a failed run.
func run(args []string, out, errs io.Writer) int {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	o, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "kubescheduler:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := compareAll(ctx, o, errs)
	if err == nil {
		err = r.write(out, o.output)
	}
	if err != nil {
		fmt.Fprintln(errs, "kubescheduler:", err)
		return 1
	}
	return 0
}

// report is the result of a comparison, with its circumstances.
type report struct {
	KubeScheduler string       `json:"kubeScheduler"` // version
	Canopy        string       `json:"canopy,omitempty"`
	Go            string       `json:"go"`
	CPUs          int          `json:"cpus"`
	Nodes         int          `json:"nodes"`
	Pods          int          `json:"pods"`
	LoadBefore    string       `json:"loadBefore"` // averages of the last 1, 5 and 15 minutes
	LoadAfter     string       `json:"loadAfter"`
	Workloads     []comparison `json:"workloads"`
}

// comparison is one workload. Figures are medians of a decision, in microseconds of CPU.
type comparison struct {
	Workload      string    `json:"workload"`
	KubeScheduler float64   `json:"kubeSchedulerCPUMicros"`
	Canopy        float64   `json:"canopyCPUMicros,omitempty"`
	Ratio         float64   `json:"ratio,omitempty"` // kube-scheduler to Canopy
	PeerRuns      []sample  `json:"kubeSchedulerRuns"`
	CanopyRuns    []float64 `json:"canopyRuns,omitempty"`
}

func compareAll(ctx context.Context, o options, errs io.Writer) (*report, error) {
	r := &report{
		KubeScheduler: peerVersion(), Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Nodes: o.nodes, Pods: o.pods, LoadBefore: load(),
	}
	for _, w := range o.chosen {
		c := comparison{Workload: w.name}
		var peerCPU []float64
		for i := range o.runs {
			s, err := measurePeer(ctx, w, o)
			if err != nil {
				return nil, fmt.Errorf("workload %s of kube-scheduler: %w", w.name, err)
			}
			c.PeerRuns, peerCPU = append(c.PeerRuns, s), append(peerCPU, s.CPU)
			fmt.Fprintf(errs, "%s, run %d of %d: kube-scheduler %.0f µs, %d of %d pods\n",
				w.name, i+1, o.runs, s.CPU, s.Pods, o.pods)
			if o.canopy == "" {
				continue
			}
			cpu, version, err := measureCanopy(ctx, w, o)
			if err != nil {
				return nil, fmt.Errorf("workload %s of canopy: %w", w.name, err)
			}
			c.CanopyRuns, r.Canopy = append(c.CanopyRuns, cpu), version
		}
		c.KubeScheduler = median(peerCPU)
		if o.canopy != "" {
			c.Canopy = median(c.CanopyRuns)
			c.Ratio = c.KubeScheduler / c.Canopy
		}
		r.Workloads = append(r.Workloads, c)
	}
	r.LoadAfter = load()
	return r, nil
}

// canopyArgs is the command line of the same workload for Canopy, whose asks are in one queue.
func canopyArgs(w workload, o options) []string {
	args := "bench run --depth 1 --fanout 1 --runs 1 --output json --nodes " + strconv.Itoa(o.nodes)
	switch w.name {
	case basic:
		args += fmt.Sprintf(" --asks %d", o.pods)
	case preemption:
		running := o.nodes * lowPerNode
		preemptors := max(2, min(o.pods, running/2/victims)) // canopy ends half of what runs at most
		args += fmt.Sprintf(" --asks %d --preemptors %d --victims %d", running, preemptors, victims)
	default:
		args += fmt.Sprintf(" --asks %d --constraint %s", o.pods, w.name)
	}
	return strings.Fields(args)
}

// measureCanopy returns the CPU of a decision in microseconds, and the version of the program.
func measureCanopy(ctx context.Context, w workload, o options) (cpu float64, version string, err error) {
	cmd := exec.CommandContext(ctx, o.canopy, canopyArgs(w, o)...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return 0, "", fmt.Errorf("%v: %w: %s", cmd.Args, err, strings.TrimSpace(failure.String()))
	}
	var result struct {
		Version string
		Suites  []struct {
			Cells []struct {
				Samples []struct{ CPUPerDecision float64 }
			}
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return 0, "", fmt.Errorf("%v: the result must be JSON: %w", cmd.Args, err)
	}
	for _, s := range result.Suites {
		for _, c := range s.Cells {
			for _, s := range c.Samples {
				cpu = s.CPUPerDecision
			}
		}
	}
	if cpu <= 0 {
		return 0, "", fmt.Errorf("%v: the result must have a sample with cpuPerDecision", cmd.Args)
	}
	return cpu, result.Version, nil
}

func (r *report) write(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintf(out, "kube-scheduler %s, canopy %s, %s, %d cores, load %s before, %s after\n",
		r.KubeScheduler, cmp.Or(r.Canopy, "not measured"), r.Go, r.CPUs, r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(out, "%d nodes, %d pods; CPU of a decision in µs, medians\n\n", r.Nodes, r.Pods)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKLOAD\tKUBE-SCHEDULER\tCANOPY\tRATIO")
	for _, c := range r.Workloads {
		fmt.Fprintf(table, "%s\t%.0f\t", c.Workload, c.KubeScheduler)
		if len(c.CanopyRuns) == 0 {
			fmt.Fprint(table, "-\t-\n")
			continue
		}
		fmt.Fprintf(table, "%.2f\t%.0f\n", c.Canopy, c.Ratio)
	}
	return table.Flush()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func peerVersion() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, d := range info.Deps {
			if d.Path == "k8s.io/kubernetes" {
				return d.Version
			}
		}
	}
	return "unknown"
}

// load is the load averages of the machine, if it has them.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) >= 3 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}
