package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const explainHelp = `Explain the state of an ask or an allocation at a running server.

For a pending ask, the answer is the verdict with figures: the requested resources, the headroom of
its queue, of its limits and of the cluster, the most that is free on one node, and the largest
node. If no release or preemption can help, it says that the ask can never run as things are. The
predicates of the resource manager are not called.

The exit code is 0 when the key is known, 1 when it is unknown or the server does not answer, and 2
when the arguments are invalid.`

const explainExamples = `  canopy explain web-1
  canopy explain web-1 --address 127.0.0.1:9080 --output json`

// explainFlags are the flags as given.
type explainFlags struct {
	address, partition, output string
	timeout                    time.Duration
}

// explainCommand explains the state of an ask or an allocation (OBS-39).
func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:     "explain KEY",
		Short:   "Explain the state of an ask, and why it is pending",
		Long:    explainHelp,
		Example: explainExamples,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return exitError{exitUsage, errors.New("explain takes one argument: the key of an ask or an allocation")}
			case args[0] == "":
				return exitError{exitUsage, errors.New("explain: the key is empty")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, args[0], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", "127.0.0.1:9080", "`HOST:PORT` of the REST interface of a running server")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print: text or json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to answer")
	return cmd
}

func (f *explainFlags) check() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(f.address); err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	if f.timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout is %v, and must be above 0", f.timeout))
	}
	return errors.Join(append(wrong, checkOutput(f.output))...)
}

// run prints the explanation of a key. An unknown key is exitRefused; its JSON is printed as well.
func (f *explainFlags) run(ctx context.Context, key string, out io.Writer) error {
	// The server decodes a name twice, as YuniKorn does.
	path := url.PathEscape(url.QueryEscape(f.partition)) + "/ask/" + url.PathEscape(url.QueryEscape(key)) + "/explain"
	text, status, err := f.get(ctx, "/ws/v1/partition/"+path)
	if err != nil {
		return exitError{exitRefused, err}
	}
	known := status == http.StatusOK
	var e dao.Explanation // the body of a 404 has its fields too
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		return exitError{exitRefused, fmt.Errorf("%s answers with status %d and a body that is no explanation", f.address, status)}
	}
	switch {
	case f.output == "json":
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, text, "", "  "); err != nil {
			return exitError{exitRefused, err}
		}
		if _, err := fmt.Fprintln(out, pretty.String()); err != nil {
			return err
		}
	case known:
		return printExplanation(out, &e)
	default:
		return exitError{exitRefused, errors.New(e.Message)}
	}
	if !known {
		return exitError{exitRefused, nil}
	}
	return nil
}

func (f *explainFlags) get(ctx context.Context, path string) (body []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.address+path, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("--address: %w", err)
	}
	client := http.Client{Timeout: f.timeout}
	got, err := client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer got.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes)); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", f.address, err)
	}
	return body, got.StatusCode, nil
}

// printExplanation prints the ask, the message of the server, and a table of figures.
func printExplanation(out io.Writer, e *dao.Explanation) error {
	t := newPreemptText(out)
	if e.ApplicationID == "" {
		t.line("%s: %s", e.AllocationKey, e.Message)
		return t.Flush()
	}
	t.line("%s of application %s, user %s, queue %s, priority %d: %s", e.AllocationKey, e.ApplicationID, e.User, e.QueueName, e.Priority, amountsText(e.Resource))
	if e.State == "pending" {
		t.line("pending since %s, %s", timeText(e.Since), ageText(time.Duration(e.Time-e.Since)))
	}
	t.line("%s", e.Message)
	if e.Verdict != nil {
		for _, b := range e.Verdict.BackOff {
			t.line("%s", b.Message)
		}
	}
	if len(e.Resources) == 0 {
		return t.Flush()
	}
	t.line("\nRESOURCE\tREQUESTED\tQUEUE HEADROOM\tLIMIT HEADROOM\tCLUSTER HEADROOM\tMOST FREE ON A NODE\tLARGEST NODE")
	for i := range e.Resources {
		r := &e.Resources[i]
		t.line("%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Resource, r.Text(r.Requested), headroomText(r, r.Queue, true), headroomText(r, r.Limit, true),
			headroomText(r, r.Cluster, false), r.Text(r.MaxFreeOnNode), r.Text(r.LargestNode))
	}
	return t.Flush()
}

// ageText is a duration in seconds, or from two days on in days and hours: a creation time may be years ago.
func ageText(age time.Duration) string {
	const day = 24 * time.Hour
	if age < 2*day {
		return age.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", age/day, age%day/time.Hour)
}

func headroomText(r *dao.Availability, headroom *dao.Headroom, named bool) string {
	if headroom == nil {
		return "no bound"
	}
	text := r.Text(headroom.Free) + " of " + r.Text(headroom.Max)
	if named {
		text += " (" + headroom.BoundBy + ")"
	}
	return text
}
