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
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const preemptHelp = `Ask a running server which victims an ask would preempt, or list past preemptions.

With --dry-run the server evaluates an ask: whether it fits on a node, and if not, for
which reason it may preempt, which victims on which node, and why no other allocation is a
victim. Nothing is changed and nothing is preempted; preemption cannot be triggered by
hand. The file is YAML or JSON:

  user: ann                    # and groups: [...]; or applicationID of an existing one
  queueName: root.prod
  priority: 4000               # or priorityClassName
  resource: {vcore: 2, memory: 4Gi}
  requiredNodeId: n7           # it accepts no other node
  preempts: true               # false: it may have no victims
  assumeDelayPassed: true      # as if preemption.delay was over
  explainNode: n3              # whose allocations are listed; default: the node of the plan

Of an ask that is pending at the server, "allocationKey: KEY" is enough.

With --list the last preemptions are listed, the newest first, and with --show one of them is
shown with all candidates on the node.

The exit code of --dry-run is 0 when the ask would be placed, now or when its victims have ended, and
1 when it would not. It is 2 when the ask or the arguments are invalid, or the server does not
answer.`

const preemptExamples = `  canopy preempt --dry-run --ask ask.yaml --address 127.0.0.1:9080
  echo 'allocationKey: web-1' | canopy preempt --dry-run --ask - --address 127.0.0.1:9080 --json
  canopy preempt --list --reason guarantee --address 127.0.0.1:9080
  canopy preempt --show 17 --address 127.0.0.1:9080`

// preemptFlags are the flags as given.
type preemptFlags struct {
	dryRun, list, json              bool
	show                            uint64
	ask, address, partition, output string
	application, queue, reason      string
	limit                           int
	timeout                         time.Duration
	showGiven, filterGiven          bool
	access                          clientAccess
}

// preemptCommand shows dry runs of preemption, and past preemptions, of a server.
func preemptCommand() *cobra.Command {
	var f preemptFlags
	cmd := &cobra.Command{
		Use:     "preempt (--dry-run --ask FILE | --list | --show NUMBER) --address HOST:PORT",
		Short:   "Show which victims an ask would preempt, or list past preemptions",
		Long:    preemptHelp,
		Example: preemptExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.showGiven = cmd.Flags().Changed("show")
			for _, name := range []string{"application", "queue", "reason", "limit"} {
				f.filterGiven = f.filterGiven || cmd.Flags().Changed(name)
			}
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "evaluate the ask of --ask; nothing is changed")
	flags.StringVar(&f.ask, "ask", "", "YAML or JSON `FILE` with the ask of a dry run (- is standard input)")
	flags.BoolVar(&f.list, "list", false, "list the last preemptions, the newest first")
	flags.Uint64Var(&f.show, "show", 0, "show the preemption with this `NUMBER`")
	flags.StringVar(&f.address, "address", "", "`HOST:PORT` of the REST interface of a running server")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	flags.StringVar(&f.application, "application", "",
		"list only those with an ask or a victim of the application with this `ID`")
	flags.StringVar(&f.queue, "queue", "",
		"list only those with an ask or a victim in the queue at this `PATH`, or below it")
	flags.StringVar(&f.reason, "reason", "",
		"list only those for this reason: node, guarantee, priority, quota, pressure or operator")
	flags.IntVar(&f.limit, "limit", 20, "list so many at most")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print: text or json")
	flags.BoolVar(&f.json, "json", false, "the same as --output json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to answer")
	f.access.add(flags)
	return cmd
}

func (f *preemptFlags) check() error {
	var wrong []error
	note := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	modes := 0
	for _, given := range []bool{f.dryRun, f.list, f.showGiven} {
		if given {
			modes++
		}
	}
	note(modes == 0,
		"preemption cannot be triggered by hand, there is a dry run only: give --dry-run with --ask, or --list, or --show")
	note(modes > 1, "--dry-run, --list and --show exclude each other")
	note(f.dryRun && f.ask == "", "--ask names no file")
	note(!f.dryRun && f.ask != "", "--ask is for --dry-run")
	note(f.filterGiven && !f.list, "--application, --queue, --reason and --limit are for --list")
	note(f.limit <= 0, "--limit is %d, and must be above 0", f.limit)
	note(f.showGiven && f.show == 0, "--show takes the number of a preemption, from 1 on")
	note(f.timeout <= 0, "--timeout is %v, and must be above 0", f.timeout)
	note(f.address == "", "--address names no server")
	if _, _, err := net.SplitHostPort(f.address); f.address != "" && err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	return errors.Join(append(wrong, checkOutput(f.output))...)
}

func (f *preemptFlags) run(ctx context.Context, in io.Reader, out io.Writer) error {
	switch {
	case f.dryRun:
		ask, err := f.readAsk(in)
		if err != nil {
			return exitError{exitUsage, err}
		}
		var s dao.DryRunResult
		if err := f.fetch(ctx, http.MethodPost, "/dry-run", ask, out, &s); err != nil {
			return err
		}
		if err := f.print(func() error { return printDryRun(out, &s) }); err != nil {
			return err
		}
		if s.Outcome == "does not fit" || s.Outcome == "may not start" {
			return exitError{exitRefused, nil}
		}
		return nil
	case f.list:
		q := url.Values{"limit": {strconv.Itoa(f.limit)}}
		for name, value := range map[string]string{"application": f.application, "queue": f.queue, "reason": f.reason} {
			if value != "" {
				q.Set(name, value)
			}
		}
		var all dao.PreemptionList
		if err := f.fetch(ctx, http.MethodGet, "?"+q.Encode(), nil, out, &all); err != nil {
			return err
		}
		return f.print(func() error { return printPreemptions(out, &all) })
	}
	var p dao.Preemption
	if err := f.fetch(ctx, http.MethodGet, "/"+strconv.FormatUint(f.show, 10), nil, out, &p); err != nil {
		return err
	}
	return f.print(func() error { return printPreemption(out, &p) })
}

// maxAskFileBytes is one byte more than a server accepts.
const maxAskFileBytes = 64<<10 + 1

func (f *preemptFlags) readAsk(in io.Reader) ([]byte, error) {
	if f.ask != "-" {
		file, err := os.Open(f.ask)
		if err != nil {
			return nil, fmt.Errorf("--ask: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxAskFileBytes))
	if err != nil {
		return nil, fmt.Errorf("--ask: %s: %w", f.ask, err)
	}
	return text, nil
}

func (f *preemptFlags) asJSON() bool { return f.json || f.output == "json" }

// print prints text, unless JSON was requested: fetch has printed that.
func (f *preemptFlags) print(text func() error) error {
	if f.asJSON() {
		return nil
	}
	if err := text(); err != nil {
		return exitError{exitUsage, err}
	}
	return nil
}

// fetch sends a request and decodes the answer into to. If JSON was requested, it prints the answer,
// indented. All errors are exitUsage.
func (f *preemptFlags) fetch(ctx context.Context, method, path string, body []byte, out io.Writer, to any) error {
	text, err := f.request(ctx, method, path, body)
	if err == nil {
		if err = answer.Decode(text, to); err != nil {
			err = fmt.Errorf("%s answers with an unexpected body: %w", f.address, err)
		}
	}
	if err == nil && f.asJSON() {
		var pretty bytes.Buffer
		if err = json.Indent(&pretty, text, "", "  "); err == nil {
			_, err = fmt.Fprintln(out, pretty.String())
		}
	}
	if err != nil {
		return exitError{exitUsage, err}
	}
	return nil
}

// maxAnswerBytes bounds what is read of an answer; a thousand preemptions take far less.
const maxAnswerBytes = 1 << 28

func (f *preemptFlags) request(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	target := "http://" + f.address + "/ws/v1/partition/" + url.PathEscape(f.partition) + "/preemptions" + path
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--address: %w", err)
	}
	r.Header.Set("Content-Type", "application/yaml")
	client, err := f.access.httpClient(f.address, f.timeout)
	if err != nil {
		return nil, err
	}
	got, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.address, err)
	}
	if got.StatusCode == http.StatusOK {
		return text, nil
	}
	var refusal struct{ Message string }
	if json.Unmarshal(text, &refusal) != nil || refusal.Message == "" {
		return nil, fmt.Errorf("%s answers with %s", f.address, got.Status)
	}
	return nil, fmt.Errorf("%s: %s", f.address, refusal.Message)
}
