package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// Report is the result of a comparison, with its circumstances.
type Report struct {
	Scale      string       `json:"scale"`
	Seed       uint64       `json:"seed"`
	Runs       int          `json:"runs"`
	CPUs       int          `json:"cpus"`
	Go         string       `json:"go"`
	Yunikorn   string       `json:"yunikorn"` // version of yunikorn-core
	LoadBefore string       `json:"loadBefore"`
	LoadAfter  string       `json:"loadAfter"`
	Workloads  []Comparison `json:"workloads"`
}

// Comparison is one workload in both arms.
type Comparison struct {
	Workload string   `json:"workload"`
	About    string   `json:"about"`
	Nodes    int      `json:"nodes"`
	Leaves   int      `json:"leaves"`
	Apps     int      `json:"applications"`
	Asks     int      `json:"asks"`
	Yunikorn Figures  `json:"yunikorn"`
	Canopy   Figures  `json:"canopy"`
	CPU      Ratio    `json:"cpuRatio"`  // yunikorn to canopy
	Wall     Ratio    `json:"wallRatio"` // yunikorn to canopy
	Notes    []string `json:"notes,omitempty"`
	Samples  []Sample `json:"samples"`
}

// Figures are medians per allocation, in microseconds.
type Figures struct {
	CPU  float64 `json:"cpuMicros"`
	Wall float64 `json:"wallMicros"`
}

func newReport(o options) *Report {
	return &Report{
		Scale: o.scale, Seed: o.seed, Runs: o.runs, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Yunikorn: versionOf("github.com/apache/yunikorn-core"), LoadBefore: loadAverage(),
	}
}

func versionOf(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "unknown"
}

// loadAverage is the load average of the last minute, if the system has it.
func loadAverage() string {
	load := measure.LoadAverage()
	if load < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", load)
}

// add compares the samples of a workload. Both arms must have the same number.
func (r *Report) add(w Workload, samples []Sample, seed uint64) {
	cpu, wall := map[string][]float64{}, map[string][]float64{}
	for _, s := range samples {
		cpu[s.Arm] = append(cpu[s.Arm], s.cpuPer())
		wall[s.Arm] = append(wall[s.Arm], s.wallPer())
	}
	r.Workloads = append(r.Workloads, Comparison{
		Workload: w.Name, About: w.About, Nodes: w.Nodes, Leaves: len(w.leaves()), Apps: w.Apps, Asks: w.Asks,
		Yunikorn: Figures{median(cpu[yunikorn]), median(wall[yunikorn])},
		Canopy:   Figures{median(cpu[canopy]), median(wall[canopy])},
		CPU:      compare(cpu[yunikorn], cpu[canopy], seed),
		Wall:     compare(wall[yunikorn], wall[canopy], seed),
		Notes:    reportNotes(w, samples),
		Samples:  samples,
	})
}

// reportNotes are notes for the reader: the arms did not place the same number of asks.
func reportNotes(w Workload, samples []Sample) (all []string) {
	var taken []string
	for _, arm := range []string{yunikorn, canopy} {
		cut, least, most := 0, w.Asks, 0
		for _, s := range samples {
			if s.Arm != arm {
				continue
			}
			least, most = min(least, s.Allocated), max(most, s.Allocated)
			if s.cutOff() {
				cut++
			}
		}
		if least, most := victimRange(samples, arm); w.preempts() && cut == 0 && most > 2*w.Preemptors {
			taken = append(taken, fmt.Sprintf("%s: %s told %d to %d allocations to leave, where %d are enough",
				w.Name, arm, least, most, 2*w.Preemptors))
		}
		if cut > 0 {
			all = append(all, fmt.Sprintf("%s: %s was cut off in %d of its runs with %d to %d of %d asks placed; "+
				"its figures are per allocation done until then", w.Name, arm, cut, least, most, w.Asks))
		}
	}
	if len(all) > 0 {
		all = append(all, w.Name+": the arms did not place the same number of asks")
	}
	return append(all, taken...)
}

// victimRange is the lowest and the highest number of victims of an arm, which must have a sample.
func victimRange(samples []Sample, arm string) (least, most int) {
	least = math.MaxInt
	for _, s := range samples {
		if s.Arm == arm {
			least, most = min(least, s.Victims), max(most, s.Victims)
		}
	}
	return least, most
}

func (r *Report) writeJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *Report) writeText(out io.Writer) error {
	fmt.Fprintf(out,
		"yunikorn-core %s and Canopy in process, %d runs each, scale %s, seed %d, %d CPUs, %s, load %s to %s\n",
		r.Yunikorn, r.Runs, r.Scale, r.Seed, r.CPUs, r.Go, r.LoadBefore, r.LoadAfter)
	fmt.Fprint(out,
		"Medians in µs per allocation, deciding only. Canopy decides once per delivery, as its delivery to the shim "+
			"does.\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"workload\tnodes\tleaves\tapps\tasks\tyunikorn CPU\twall\tcanopy CPU\twall\tCPU ratio (95 %)\twall ratio (95 %)")
	for _, c := range r.Workloads {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\n",
			c.Workload, c.Nodes, c.Leaves, c.Apps, c.Asks,
			c.Yunikorn.CPU, c.Yunikorn.Wall, c.Canopy.CPU, c.Canopy.Wall, c.CPU, c.Wall)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	all := true
	for _, c := range r.Workloads {
		for _, n := range c.Notes {
			fmt.Fprintln(out, n)
		}
		for _, s := range c.Samples {
			all = all && !s.cutOff()
		}
	}
	if all {
		fmt.Fprintln(out, "Both arms placed every ask in every run.")
	}
	return nil
}

// String is the ratio with its significant digits.
func (r Ratio) String() string {
	return fmt.Sprintf("%s (%s to %s)", digits(r.Value), digits(r.Low), digits(r.High))
}

func digits(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}
