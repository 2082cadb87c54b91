package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const placeHelp = `Say in which queue an application would be placed, and why, without a server.

The partition of the file is built as a server builds it, and the application is
submitted to it. Every placement rule that is evaluated is listed with its result: the
queue it named, why it was passed over, or what was wrong. For a queue that would be
created the values of its childtemplate are shown, and for every queue the ACL that
gives the user submit access.

Without --groups the user has one group, of the same name: no resolver is called,
whatever usergroupresolver the partition has. An application that already runs, and must
be placed in any case, has --create-forced or the tag application.create.force=true.

The exit code is 0 when the application would be placed, 1 when it would be rejected, and 2
when the file has errors or cannot be read or the arguments are invalid.`

const placeExamples = `  canopy place --config queues.yaml --user ann --queue root.tenants.batch
  canopy place --config queues.yaml --user ann --groups dev,ops --tag namespace=web
  canopy place --config queues.yaml --user ann --output json | jq -r .queue`

// placeFlags are the flags as given.
type placeFlags struct {
	offlineFlags
	user, queue string
	groups      []string
	tags        []string
	forced      bool
}

// placeCommand submits an application to a configuration, without a server (PLC-31).
func placeCommand() *cobra.Command {
	var f placeFlags
	cmd := &cobra.Command{
		Use:     "place --config FILE --user NAME",
		Short:   "Say in which queue an application would be placed, and why",
		Long:    placeHelp,
		Example: placeExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.submission()
			if err := cmdline.UsageError(errors.Join(f.check(), err)); err != nil {
				return err
			}
			w, err := f.loadPartition(cmd)
			if err != nil {
				return err
			}
			p := w.Place(s)
			if err := printPlacement(cmd.OutOrStdout(), f.output, w, p); err != nil {
				return cmdline.Exit(cmdline.Usage, err) // exit code 1 means that it was rejected
			}
			if !p.Placed {
				return cmdline.Exit(cmdline.Refused, nil)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.user, "user", "", "`NAME` of the user of the application")
	flags.StringSliceVar(&f.groups, "groups", nil,
		"groups of the user, the primary one first; default: one of the user's name")
	flags.StringVar(&f.queue, "queue", "", "queue that the application names")
	flags.StringArrayVar(&f.tags, "tag", nil, "tag `NAME=VALUE` of the application; may be repeated")
	flags.BoolVar(&f.forced, "create-forced", false, "the application already runs and must be placed in any case")
	return cmd
}

// submission is the submission that the flags describe; the error has all invalid flags.
func (f *placeFlags) submission() (placement.Submission, error) {
	var wrong []error
	user := security.User{Name: f.user, Groups: slices.Clone(f.groups)}
	switch {
	case f.user == "":
		wrong = append(wrong, errors.New("--user is empty"))
	case len(f.groups) == 0:
		user.Groups = []string{f.user}
	case !security.IsUserName(f.user):
		wrong = append(wrong, fmt.Errorf("--user: a user with groups cannot be called %q", f.user))
	}
	for i, name := range append([]string{f.user}, f.groups...) {
		flag := "--groups"
		if i == 0 {
			flag = "--user"
		}
		switch {
		case !security.IsPrintable(name):
			wrong = append(wrong, fmt.Errorf("%s: %q has a control character or is not UTF-8", flag, name))
		case name == "" && i > 0:
			wrong = append(wrong, fmt.Errorf("%s has an empty name", flag))
		}
	}
	tags := map[string]string{}
	for _, t := range f.tags {
		name, value, ok := strings.Cut(t, "=")
		if _, twice := tags[name]; !ok || name == "" {
			wrong = append(wrong, fmt.Errorf("--tag is NAME=VALUE, not %q", t))
		} else if twice {
			wrong = append(wrong, fmt.Errorf("--tag gives %q twice", name))
		}
		tags[name] = value
	}
	return placement.Submission{Queue: f.queue, User: user, Tags: tags, CreateForced: f.forced}, errors.Join(wrong...)
}

func printPlacement(out io.Writer, format string, w *offline.Partition, p offline.Placement) error {
	if format == "json" {
		return cmdline.PrintJSON(out, p)
	}
	l := &lineWriter{out: out}
	if p.Placed {
		l.add(fmt.Sprintf("%s: placed by %s", p.Queue, ruleName(p.Rule)))
	} else {
		l.add("rejected: " + p.Reason)
	}
	for i := range p.Steps {
		addStep(l, &p.Steps[i], "  ", "")
	}
	if a := p.Access; a != nil {
		l.add(fmt.Sprintf("access: %s of %s has %s", a.List, a.Queue, a.Name))
	}
	for i := range p.Created {
		addCreatedQueue(l, w, &p.Created[i])
	}
	for _, warning := range p.Warnings {
		l.add("warning: " + warning)
	}
	return l.err
}

// ruleName is the name of a rule within a sentence; the default queue is not a rule.
func ruleName(rule string) string {
	switch rule {
	case placement.DefaultQueue:
		return "default, because no rule placed it"
	case "recovery":
		return "the recovery rule, because no other rule placed it and it is forced"
	}
	return "rule " + rule
}

// addStep writes the result of a rule, and below it those of its parent rules.
func addStep(l *lineWriter, s *offline.Step, indent, label string) {
	line := s.Outcome
	if s.Reason != "" {
		line += ": " + s.Reason
	} else {
		line += ": " + s.Queue
	}
	l.add(indent + label + s.Rule + ": " + line)
	if s.Parent != nil {
		addStep(l, s.Parent, indent+"  ", "parent ")
	}
}

func addCreatedQueue(l *lineWriter, w *offline.Partition, m *offline.CreatedQueue) {
	if m.Parent {
		l.add("creates " + m.Queue + ", a parent")
		return
	}
	limited := m.Max != nil || m.Guaranteed != nil || m.MaxApplications > 0
	switch {
	case m.Template != "":
		l.add(fmt.Sprintf("creates %s, a leaf with the childtemplate of %s", m.Queue, m.Template))
	case limited:
		l.add("creates " + m.Queue + ", a leaf with the quotas of the tags")
	default:
		l.add("creates " + m.Queue + ", a leaf without limits")
	}
	if m.Max != nil {
		l.add("  max: " + w.FormatQuantities(m.Max))
	}
	if m.Guaranteed != nil {
		l.add("  guaranteed: " + w.FormatQuantities(m.Guaranteed))
	}
	if m.MaxApplications > 0 {
		l.add(fmt.Sprintf("  maxapplications: %d", m.MaxApplications))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Properties)) {
		l.add("  " + name + ": " + m.Properties[name])
	}
}
