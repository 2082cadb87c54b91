package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const appsHelp = `Print applications of a running server: the active ones, those with most of a
resource first, or the completed or rejected ones, the newest first.

The exit code is 0 when they were printed, 1 when the queue is unknown or the server does not
answer, and 2 when the arguments are invalid.`

const appsExamples = `  canopy apps --queue root.research
  canopy apps --user ann --sort age
  canopy apps --state completed --output json`

// application is what is shown of an application of an answer.
type application struct {
	dao.Application
	Requests    []struct{} `json:"requests,omitempty"`
	Allocations []struct{} `json:"allocations,omitempty"`
}

// summary is an application in JSON: without the lists of its asks and allocations, which are counted.
func (a *application) summary() applicationSummary {
	s := applicationSummary{Application: a.Application, PendingAsks: len(a.Requests),
		RunningAllocations: len(a.Allocations)}
	s.Application.Requests, s.Application.Allocations = nil, nil
	return s
}

type applicationSummary struct {
	dao.Application
	PendingAsks        int `json:"pendingAsks"`
	RunningAllocations int `json:"allocationCount"`
}

// appsFlags are the flags as given.
type appsFlags struct {
	readerFlags
	queue, user, state, resource, sort string
	limit                              int
}

// appsCommand prints applications (USG-12).
func appsCommand() *cobra.Command {
	var f appsFlags
	cmd := &cobra.Command{
		Use: "apps", Short: "Print applications", Long: appsHelp, Example: appsExamples, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			return f.show(cmd, f.print)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.queue, "queue", "", "only applications in the queue with this `PATH`, and below")
	flags.StringVar(&f.user, "user", "", "only applications of the user of this `NAME`")
	flags.StringVar(&f.state, "state", "active", "active, completed or rejected")
	flags.StringVar(&f.resource, "resource", "",
		"`NAME` of the resource in text; not given: vcore, or the first that there is")
	flags.StringVar(&f.sort, "sort", "", "used, pending, age or name; not given: used, or the newest first for ended ones")
	flags.IntVar(&f.limit, "limit", 50, "how many to print in text; 0: all")
	f.add(flags, 0)
	return cmd
}

func (f *appsFlags) check() error {
	var wrong []error
	if !slices.Contains([]string{"active", "completed", "rejected"}, f.state) {
		wrong = append(wrong, fmt.Errorf("--state is active, completed or rejected; not %q", f.state))
	}
	if !slices.Contains([]string{"", "used", "pending", "age", "name"}, f.sort) {
		wrong = append(wrong, fmt.Errorf("--sort is used, pending, age or name; not %q", f.sort))
	}
	if f.limit < 0 {
		wrong = append(wrong, fmt.Errorf("--limit is %d, and must not be below 0", f.limit))
	}
	return errors.Join(append(wrong, f.readerFlags.check())...)
}

// readApplications reads the applications of a state.
func (f *readerFlags) readApplications(ctx context.Context, state string) ([]application, error) {
	var all []application
	return all, f.read(ctx, f.path("applications/"+state), &all)
}

func (f *appsFlags) print(ctx context.Context, out io.Writer) (any, error) {
	if f.queue != "" {
		if _, err := f.readQueues(ctx, f.queue); err != nil && f.state == "active" {
			return nil, err // an ended application may have been in a queue that is no more
		}
	}
	all, err := f.readApplications(ctx, f.state)
	if err != nil {
		return nil, err
	}
	path := strings.ToLower(f.queue)
	all = slices.DeleteFunc(all, func(a application) bool {
		return !below(a.QueueName, path) || f.user != "" && a.User != f.user
	})
	var amounts []dao.Quantities
	for i := range all {
		amounts = append(amounts, all[i].UsedResource, all[i].PendingResource, all[i].MaxUsedResource)
	}
	resource := mainResource(f.resource, amounts...)
	sortApplications(all, cmp.Or(f.sort, map[bool]string{true: "used", false: "age"}[f.state == "active"]), resource)
	fmt.Fprintf(out, "partition %s, %s, %s\n\n", f.partition, plural(len(all), f.state+" application"),
		printableLine(resource))
	summaries := make([]applicationSummary, len(all))
	for i := range all {
		summaries[i] = all[i].summary()
	}
	return summaries, printApplications(out, summaries, f.state == "active", resource, f.limit)
}

// sortApplications sorts by an order; age is the newest first. Of two that are the same there, the ID decides.
func sortApplications(all []application, by, resource string) {
	slices.SortStableFunc(all, func(a, b application) int {
		first := 0
		switch by {
		case "used":
			first = cmp.Compare(b.UsedResource[resource], a.UsedResource[resource])
		case "pending":
			first = cmp.Compare(b.PendingResource[resource], a.PendingResource[resource])
		case "age":
			first = cmp.Or(cmp.Compare(b.FinishedTime, a.FinishedTime), cmp.Compare(b.SubmissionTime, a.SubmissionTime))
		}
		return cmp.Or(first, cmp.Compare(a.ApplicationID, b.ApplicationID))
	})
}

func printApplications(out io.Writer, all []applicationSummary, active bool, resource string, limit int) error {
	heads := []string{"APPLICATION", "QUEUE", "USER", "STATE", "PEAK", "FINISHED", "RAN FOR"}
	if active {
		heads = []string{"APPLICATION", "QUEUE", "USER", "STATE", "USED", "PENDING", "ASKS", "SUBMITTED"}
	}
	t := newTable(out, heads...)
	for i := range all {
		a := &all[i]
		if limit > 0 && i == limit {
			break
		}
		submitted, finished := time.Unix(0, a.SubmissionTime), time.Unix(0, a.FinishedTime)
		if active {
			t.row(a.ApplicationID, a.QueueName, a.User, a.ApplicationState, amount(a.UsedResource, resource),
				amount(a.PendingResource, resource),
				strconv.Itoa(a.PendingAsks), dao.TimeText(submitted))
			continue
		}
		t.row(a.ApplicationID, a.QueueName, a.User, a.ApplicationState, amount(a.MaxUsedResource, resource),
			dao.TimeText(finished), shortDuration(finished.Sub(submitted)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if limit > 0 && len(all) > limit {
		fmt.Fprintf(out, "and %d more; see --limit\n", len(all)-limit)
	}
	return nil
}
