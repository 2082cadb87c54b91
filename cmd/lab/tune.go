package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/tune"
	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const tuneHelp = `Propose a change of guarantees and priority offsets that makes the asks of a queue wait less,
by trying changes on a recording as 'canopy-lab what-if' does, and show every trial.

An objective is QUEUE p50|p95|max < DURATION. QUEUE is a leaf, or a parent: then all asks
below it count together. An ask that never ran has waited for ever, one that was cancelled
until then. Waits are compared with those of the given configuration, unchanged. No other
leaf may wait more than --others times as long in the median, and a second.

Tried are, in this order: higher priority offsets of the queue, of each queue above it, higher
guarantees of the queue, of those above by as much, and both together. The result is the
smallest change of the first kind that meets all, or why there is none. It is not put into
force: --write writes the edited text, with its comments, and 'canopy plan' says what it would
change on a server. Of a ConfigMap, the queues.yaml in it is written.

The exit code is 0 when a change meets the objective, or none is needed, 1 when none was
found, the configuration has errors, or this version of Canopy does not make the recorded
decisions, and 2 when the recording cannot be read, has no asks of the queue, or the
arguments are invalid.`

const tuneExamples = `  canopy-lab tune rec --config queues.yaml --objective "root.prod p95 < 60s" --write new.yaml
  canopy-lab tune rec --config queues.yaml --objective "root.prod p50 < 5s" --objective "root.dev max < 1h" --others 1.5
  canopy-lab tune rec --config queues.yaml --objective "root.prod p95 < 60s" -o json | jq .proposal.change`

// tuneFlags are the flags as given.
type tuneFlags struct {
	config, partition, at, output, write string
	objectives                           []string
	others                               float64
	maxTrials                            int
	bounds                               queuesyaml.Options
}

// tuneCommand searches a configuration for an objective on a recording (WIF-8 to WIF-12).
func tuneCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune DIRECTORY",
		Short: "Propose guarantees and priority offsets for an objective, by trying them on a recording", Long: tuneHelp,
		Example: tuneExamples,
		Args:    directoryArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			objectives, err := f.check(args[0])
			if err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			p, err := cmdline.LoadProposal("--config", f.config, cmd.InOrStdin(), cmd.ErrOrStderr(), f.bounds)
			if err != nil {
				return err
			}
			for _, w := range p.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), w.WithFile(f.config))
			}
			return f.run(args[0], []byte(p.Text), objectives, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "",
		"the `FILE` with the queues to begin with, in the form of queues.yaml; - for standard input; required")
	flags.StringArrayVar(&f.objectives, "objective", nil,
		"what is to hold, such as `\"root.prod p95 < 60s\"`: p50, p95 or max of the waits of a queue; may be given several "+
			"times, then all must hold; required")
	flags.Float64Var(&f.others, "others", 2,
		"how many times as long the median of each other leaf may wait, and how many times as many of its asks may never "+
			"run; 1 or more")
	flags.StringVar(&f.write, "write", "", "write the queues.yaml with the proposed change to this `FILE`")
	flags.IntVar(&f.maxTrials, "max-trials", 40, "how many changes are tried at most; each takes as long as one what-if")
	flags.StringVar(&f.partition, "partition", "", "the partition of this `NAME`; required if several were recorded")
	flags.StringVar(&f.at, "at", "",
		"the session that this `TIME` falls into: RFC 3339, or how long ago; not given: the last one")
	cmdline.OutputFlag(flags, &f.output)
	cmdline.AddBounds(flags, &f.bounds)
	return cmd
}

// check reads the objectives, and reports all that is wrong with the flags.
func (f *tuneFlags) check(dir string) (objectives []tune.Objective, err error) {
	wrong := []error{cmdline.CheckTime("--at", f.at), cmdline.CheckBounds(f.bounds),
		refuseSameFile(namedFile{"write", f.write}, namedFile{"config", f.config})}
	if f.config == "" {
		wrong = append(wrong, errors.New("--config is missing: the queues.yaml to begin with"))
	}
	if len(f.objectives) == 0 {
		wrong = append(wrong, errors.New(`--objective is missing, such as --objective "root.prod p95 < 60s"`))
	}
	for _, text := range f.objectives {
		o, err := tune.ParseObjective(text)
		if err != nil {
			err = fmt.Errorf("--objective: %w", err)
		}
		objectives, wrong = append(objectives, o), append(wrong, err)
	}
	if !(f.others >= 1) || math.IsInf(f.others, 0) { // a NaN is neither
		wrong = append(wrong, fmt.Errorf("--others is %g, and must be 1 or more", f.others))
	}
	if f.maxTrials < 1 {
		wrong = append(wrong, fmt.Errorf("--max-trials is %d, and must be above 0", f.maxTrials))
	}
	return objectives, errors.Join(append(wrong, f.checkWrite(dir))...)
}

// checkWrite refuses a --write that could not be written after a long search, or would be in the recording.
func (f *tuneFlags) checkWrite(dir string) error {
	if f.write == "" {
		return nil
	}
	to := filepath.Dir(f.write)
	if stat, err := os.Stat(to); err != nil || !stat.IsDir() {
		return fmt.Errorf("--write: there is no directory %s", to)
	}
	for { // links count as what they lead to
		if isSameFile(to, dir) {
			return fmt.Errorf("--write: %s is in the recording", f.write)
		}
		absolute, err := filepath.Abs(to)
		if err != nil || filepath.Dir(absolute) == absolute {
			return nil
		}
		to = filepath.Dir(absolute)
	}
}

func (f *tuneFlags) run(dir string, text []byte, objectives []tune.Objective, out, errs io.Writer) error {
	session, err := f.session(dir)
	if err != nil {
		return err
	}
	recorded, err := whatif.Read(session)
	if err != nil {
		return tuneError(err)
	}
	progress, trial, now := cmdline.ProgressOn(errs), 0, "the given configuration"
	defer progress.End()
	result, err := tune.Run(text, session.Partition, tune.Options{
		Objectives: objectives, Others: f.others, MaxTrials: f.maxTrials, Bounds: f.bounds,
		Evaluate: func(c *configs.Config) (*whatif.Comparison, error) {
			return recorded.Compare(&whatif.Scenario{Config: c}, func(at time.Time) {
				progress.Redraw(now + ": " + at.UTC().Format(time.DateTime))
			})
		},
		Tried: func(t *tune.Trial) {
			trial++
			progress.Phase(fmt.Sprintf("trial %d: %s: %s", trial, t.Change, t.Verdict()))
			now = fmt.Sprintf("trial %d", trial+1)
		},
	})
	if err != nil {
		return tuneError(err)
	}
	progress.End() // before the result
	return f.print(result, out, errs)
}

// tuneError gives an error of a search its exit code.
func tuneError(err error) error {
	if differs := new(whatif.DifferenceError); errors.As(err, &differs) {
		return cmdline.Exit(cmdline.Refused, err)
	}
	return cmdline.Exit(cmdline.Usage, err)
}

// print prints a result, and writes the text of a change that was found.
func (f *tuneFlags) print(r *tune.Result, out, errs io.Writer) error {
	var err error
	if f.output == "json" {
		err = cmdline.PrintJSON(out, r)
	} else {
		err = r.WriteText(out)
	}
	if err != nil {
		return err
	}
	if f.write != "" && r.Status != tune.Found {
		fmt.Fprintf(errs, "--write: %s is not written: there is no change that meets all, or none is needed\n", f.write)
	} else if f.write != "" {
		if err := os.WriteFile(f.write, r.Text, 0o644); err != nil {
			return cmdline.Exit(cmdline.Refused, fmt.Errorf("--write: %w", err))
		}
	}
	if r.Status == tune.NotFound {
		return cmdline.Exit(cmdline.Refused, nil)
	}
	return nil
}

// session is the session that the flags select.
func (f *tuneFlags) session(dir string) (recording.Session, error) {
	all, err := (&whatIfFlags{partition: f.partition, at: f.at}).sessions(dir)
	if err != nil {
		return recording.Session{}, err
	}
	if len(all) > 1 {
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = s.Partition
		}
		return recording.Session{},
			cmdline.Exit(cmdline.Usage,
				fmt.Errorf("the recording has partitions %s: select one with --partition", strings.Join(names, ", ")))
	}
	return all[0], nil
}
