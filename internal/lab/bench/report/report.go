package report

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// Report is the result of `canopy-lab bench run`: the file of --output json, which `canopy-lab bench compare`
// reads.
type Report struct {
	Version    string    `json:"version"` // of canopy
	Go         string    `json:"go"`
	CPU        string    `json:"cpu"` // model name; empty: unknown
	Cores      int       `json:"cores"`
	Started    time.Time `json:"started"`
	Seed       uint64    `json:"seed"`
	Runs       int       `json:"runs"`       // requested samples per cell
	LoadBefore float64   `json:"loadBefore"` // load average over one minute; -1: unknown
	LoadAfter  float64   `json:"loadAfter"`
	Stolen     float64   `json:"stolen"` // share of processor time that the host took in the meantime; 0: none, or unknown
	Suites     []Suite   `json:"suites"`
	Incomplete string    `json:"incomplete,omitempty"` // why the run is incomplete; empty: it is complete
}

// Suite is a set of related cells.
type Suite struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Axis  string `json:"axis,omitempty"` // what grows from cell to cell, such as "nodes"; empty: nothing
	Cells []Cell `json:"cells"`
}

// Cell is one workload with its samples.
type Cell struct {
	Name    string        `json:"name"`           // unique within the suite, the same in every Report
	Line    string        `json:"line,omitempty"` // cells of the same line form one curve over Size, such as "binpacking"
	Size    float64       `json:"size,omitempty"` // position on the suite's Axis; 0: it has none
	Spec    workload.Spec `json:"spec"`
	Digest  string        `json:"digest"`            // of the request stream: equal digests, equal work
	Samples []Sample      `json:"samples"`           // one per run, in order
	Merged  Sample        `json:"merged,omitempty"`  // of all runs together: percentiles of their times; means of traces
	Failure string        `json:"failure,omitempty"` // why samples are missing
}

// Sample holds the results of one process: values by the name of a Metric. A metric that does not apply is
// missing.
type Sample map[string]float64

// Metric describes a figure.
type Metric struct {
	Name   string // as in Sample
	Unit   string // µs, 1/s, bytes, share, count
	About  string
	Higher bool // higher is better; else lower
	Exact  bool // a count that does not vary: any difference is a difference
}

// Metrics are the figures, in the order of display.
var Metrics = []Metric{
	{Name: "cpuPerDecision", Unit: "µs", About: "CPU per allocation, user and system, whole process, with collections"},
	{Name: "wallPerDecision", Unit: "µs", About: "wall time per allocation"},
	{Name: "decisionsPerSecond", Unit: "1/s", About: "allocations per second of wall time", Higher: true},
	{Name: "decisionP50", Unit: "µs", About: "time of one decision in the core, median"},
	{Name: "decisionP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "decisionP999", Unit: "µs", About: "the same, 99.9th percentile"},
	{Name: "askToAllocationP50", Unit: "µs",
		About: "from the time an ask should have been sent to its allocation, median"},
	{Name: "askToAllocationP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "askToAllocationP999", Unit: "µs", About: "the same, 99.9th percentile"},
	{Name: "releaseToNextP50", Unit: "µs", About: "from a release in a full cluster to the next allocation, median"},
	{Name: "releaseToNextP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "askToVictimsP50", Unit: "µs",
		About: "from a preemptor, or the victims of the one before it, to the release of its victims, median"},
	{Name: "askToVictimsP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "victimReleaseToAllocationP50", Unit: "µs",
		About: "from the confirmation of its first victim to the allocation of a preemptor, median"},
	{Name: "victimReleaseToAllocationP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "firstEvaluation", Unit: "µs", About: "the first preemption evaluation, without cached node summaries"},
	{Name: "askWithoutReadersP50", Unit: "µs",
		About: "from the time an ask should have been sent to its allocation, in phases without readers, median"},
	{Name: "askWithoutReadersP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "askWithReadersP50", Unit: "µs", About: "the same in phases with readers, median"},
	{Name: "askWithReadersP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "readersAddP50", Unit: "µs", About: "what readers add to the median; 0 if they add nothing"},
	{Name: "readersAddP99", Unit: "µs", About: "what readers add to the 99th percentile; 0 if they add nothing"},
	{Name: "readersP50Ratio", Unit: "share", About: "the median with readers as a multiple of that without"},
	{Name: "answerP50", Unit: "µs", About: "from the time a reader should have asked to the end of its answer, median"},
	{Name: "answerP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "answers", Unit: "count", About: "answers that readers got complete and correct", Higher: true},
	{Name: "answersCorrect", Unit: "share", About: "these as a share of all requests", Higher: true},
	{Name: "answersRefused", Unit: "count", About: "requests that got status 503"},
	{Name: "answersFailed", Unit: "count", About: "answers that were not complete, or took longer than 30 s"},
	{Name: "answersWrong", Unit: "count", About: "answers that said something else than they had to"},
	{Name: "answerBytes", Unit: "bytes", About: "of all answers, unpacked", Higher: true},
	{Name: "pageChanges", Unit: "count", About: "messages that told an open page to read again what it shows"},
	{Name: "connectionsCut", Unit: "count", About: "reconnections of readers that read nothing"},
	{Name: "serverCPUWithoutReaders", Unit: "share",
		About: "share of one core used without readers, by the server and the client"},
	{Name: "serverCPU", Unit: "share", About: "the same with readers; these are in another process"},
	{Name: "readerCPU", Unit: "share", About: "share of one core used by the readers"},
	{Name: "readersMemory", Unit: "bytes", About: "how much higher memory was at its peak with readers than without"},
	{Name: "idleCPU", Unit: "share", About: "share of one core used while the cluster is saturated and nothing happens"},
	{Name: "heapAllocsPerDecision", Unit: "count", About: "heap allocations per allocation"},
	{Name: "heapBytesPerDecision", Unit: "bytes", About: "heap bytes allocated per allocation"},
	{Name: "bytesPerAsk", Unit: "bytes", About: "heap held per pending ask"},
	{Name: "bytesPerApplication", Unit: "bytes", About: "heap held per application without asks"},
	{Name: "bytesPerQueue", Unit: "bytes", About: "heap held per leaf queue"},
	{Name: "bytesPerNode", Unit: "bytes", About: "heap held per node"},
	{Name: "gcShare", Unit: "share", About: "share of the CPU spent on collections"},
	{Name: "gangPerMember", Unit: "µs", About: "time of the decisions that place gangs together, per member"},
	{Name: "gangP50", Unit: "µs", About: "time of the decision that places a gang, median"},
	{Name: "gangP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "pauseP99", Unit: "µs",
		About: "pause of deciding caused by an event of the suite, such as a reload, 99th percentile"},
	{Name: "serverPeakMemory", Unit: "bytes", About: "the most memory that the server under attack ever had resident"},
	{Name: "attackMemory", Unit: "bytes", About: "of that, what came with the attack"},
	{Name: "askBeforeAttackP50", Unit: "µs", About: "from an ask to its allocation before the attack, median"},
	{Name: "askBeforeAttackP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "askDuringAttackP50", Unit: "µs", About: "the same during the attack, median"},
	{Name: "askDuringAttackP99", Unit: "µs", About: "the same, 99th percentile"},
	{Name: "attackMessages", Unit: "count", About: "messages or streams of the attacker"},
	{Name: "attackRefused", Unit: "count", About: "of these, ended by the server"},
	{Name: "attackStreamsKept", Unit: "count", About: "silent streams of the attacker that were open at the end"},
	{Name: "firstRecovery", Unit: "ms",
		About: "from the registration with a server that has just started until a pending ask is placed"},
	{Name: "recovery", Unit: "ms",
		About: "the same with a server that has run with all that is reported: the longest of three"},
	{Name: "recoveredPerSecond", Unit: "count", About: "running allocations that a server takes in a second",
		Higher: true},
	{Name: "recoveryMemory", Unit: "ratio", About: "the most memory of a server in a recovery, by that before it"},
	{Name: "recordedCPUPerDecision", Unit: "µs",
		About: "CPU of a server that records, per ask that is placed and released"},
	{Name: "recordedRatio", Unit: "ratio", About: "CPU of a server that records, by that of one that does not"},
	{Name: "bytesPerCommand", Unit: "bytes", About: "what a recording has on disk per command"},
	{Name: "idleReserved", Unit: "GPU-h", About: "GPU-hours that are free and held by reservations"},
	{Name: "wasted", Unit: "GPU-h", About: "GPU-hours of jobs that the scheduler ends and that begin again"},
	{Name: "idleReservedRatio", Unit: "ratio",
		About: "the sum of both, by idleReserved without backfill: backfill uses the rest"},
	{Name: "gangWaitP50", Unit: "h",
		About: "from the arrival of a gang, in openb of a job of a whole node, until all of it runs: median"},
	{Name: "gangWaitP50Ratio", Unit: "ratio", About: "the same, by that without backfill"},
	{Name: "gangWaitP95", Unit: "h",
		About: "from the arrival of a gang, in openb of a job of a whole node, until all of it runs: 95th percentile"},
	{Name: "gangWaitP95Ratio", Unit: "ratio", About: "the same, by that without backfill"},
	{Name: "otherWait", Unit: "h", About: "the same of all other jobs, mean"},
	{Name: "meanUtilisation", Unit: "share",
		About: "GPU-hours of jobs that reach their end, as a share of all while jobs arrive", Higher: true},
	{Name: "victims", Unit: "count", About: "preempted allocations per preemptor", Exact: true},
	{Name: "nodesTried", Unit: "count", About: "nodes tried per preemption evaluation", Exact: true},
	{Name: "nodesRanked", Unit: "count", About: "nodes ranked for an ask group, per preemption evaluation", Exact: true},
	{Name: "candidatesListed", Unit: "count", About: "candidates listed individually, per preemption evaluation",
		Exact: true},
	{Name: "allocations", Unit: "count", About: "allocations decided", Higher: true, Exact: true},
	{Name: "utilisation", Unit: "share", About: "share of the scarcest resource that is allocated at the end",
		Higher: true, Exact: true},
	{Name: "fairShareError", Unit: "share", About: "largest distance of a leaf from its fair share at the end",
		Exact: true},
	{Name: "audited", Unit: "count", About: "decisions that were checked against the legal order", Higher: true,
		Exact: true},
	{Name: "auditViolations", Unit: "count", About: "of these, decisions that were not the first in that order",
		Exact: true},
}

// Failures counts the failed cells.
func (r *Report) Failures() (cells int) {
	for _, s := range r.Suites {
		for _, c := range s.Cells {
			if c.Failure != "" {
				cells++
			}
		}
	}
	return cells
}
