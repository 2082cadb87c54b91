package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const appsHelp = `Print applications of a running server: the active ones, those with most of a
resource first, or the completed or rejected ones, the newest first.`

const appsExamples = `  canopy apps --queue root.research
  canopy apps --user ann --sort age
  canopy apps --state completed --output json`

// application has the fields of an application that are shown.
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
	user, state string
}

// appsCommand prints applications (USG-12).
func appsCommand() *cobra.Command {
	var f appsFlags
	cmd := f.command(&cobra.Command{Use: "apps", Short: "Print applications", Long: appsHelp, Example: appsExamples}, 0,
		f.print)
	f.addQueue(cmd, "only applications in the queue with this `PATH`, and below")
	f.addResource(cmd, "vcore, or the first that there is")
	f.addLimit(cmd, 50)
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "only applications of the user of this `NAME`")
	cmdline.TextFlag(flags, &f.state, "state", "active", "active, completed or rejected",
		cmdline.OneOf("active", "completed", "rejected"))
	cmdline.TextFlag(flags, &f.sort, "sort", "",
		"used, pending, age or name; not given: used, or the newest first for ended ones",
		cmdline.OneOf("used", "pending", "age", "name"))
	return cmd
}

// readApplications reads the applications of a state.
func (f *readerFlags) readApplications(ctx context.Context, state string) ([]application, error) {
	var all []application
	return all, f.read(ctx, f.path("applications", state), &all)
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
	fmt.Fprintf(out, "partition %s, %s, %s\n\n", f.partition, cmdline.Plural(len(all), f.state+" application"),
		cmdline.PrintableLine(resource))
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
	heads := "APPLICATION\tQUEUE\tUSER\tSTATE\tPEAK\tFINISHED\tRAN FOR"
	if active {
		heads = "APPLICATION\tQUEUE\tUSER\tSTATE\tUSED\tPENDING\tASKS\tSUBMITTED"
	}
	return printList(out, heads, all, limit, func(a *applicationSummary) []string {
		submitted, finished := time.Unix(0, a.SubmissionTime), time.Unix(0, a.FinishedTime)
		cells := []string{a.ApplicationID, a.QueueName, a.User, a.ApplicationState}
		if active {
			return append(cells, amount(a.UsedResource, resource), amount(a.PendingResource, resource),
				strconv.Itoa(a.PendingAsks), dao.TimeText(submitted))
		}
		return append(cells, amount(a.MaxUsedResource, resource), dao.TimeText(finished),
			shortDuration(finished.Sub(submitted)))
	})
}
