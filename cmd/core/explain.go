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
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const explainHelp = `Explain the state of an ask or an allocation at a running server.

For a pending ask, the answer is the verdict with figures: the requested resources, the headroom of
its queue, of its limits and of the cluster, the most that is free on one node, and the largest
node; then every closed gate with the smallest changes that would open it, the largest request that
would be placed instead, the place of the ask in selection order, and whether it may preempt. If no
release or preemption can help, it says that the ask can never run as things are. The predicates of
the resource manager are not called.

The expected start is a span of time: with a probability of 80 % the ask starts in it, as far as
allocations run as long as earlier ones of the same queue. It comes with what it is based on and
with how right earlier answers were. --expected-start=false leaves it out.

For an application, each group of its pending asks that wait for the same is explained. A name is
looked up as a key first; --application looks it up as an application only.

The exit code is 0 when the name is known, 1 when it is unknown or the server does not answer, and 2
when the arguments are invalid.`

const explainExamples = `  canopy explain web-1
  canopy explain spark-etl --application
  canopy explain web-1 --address 127.0.0.1:9080 --output json`

// explainFlags are the flags as given.
type explainFlags struct {
	address, partition, output string
	timeout                    time.Duration
	application                bool
	expectedStart, victims     bool
	access                     clientAccess
}

// explainCommand explains the state of an ask or an allocation (OBS-39).
func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:     "explain KEY|APPLICATION",
		Short:   "Explain why an ask or the asks of an application are pending, and what would help",
		Long:    explainHelp,
		Example: explainExamples,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return exitError{exitUsage,
					errors.New("explain takes one argument: the key of an ask or an allocation, or an application")}
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
	flags.BoolVar(&f.application, "application", false, "explain the application of this ID, and no key")
	flags.BoolVar(&f.expectedStart, "expected-start", true,
		"also say when the ask is expected to start, which a large partition takes seconds for")
	flags.BoolVar(&f.victims, "victims", true,
		"also say of one ask that may preempt what it would preempt or lacks, which delays decisions of a large partition "+
			"by milliseconds")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print: text or json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to answer")
	f.access.add(flags)
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

// run prints the explanation of a key or of an application. An unknown name is exitRefused; its JSON is printed as
// well.
func (f *explainFlags) run(ctx context.Context, name string, out io.Writer) error {
	var text []byte
	known := false
	if !f.application {
		var status int
		var err error
		if text, status, err = f.get(ctx, f.path("ask", name)); err != nil {
			return refusedOr(err)
		}
		var e dao.Explanation // the body of a 404 has its fields too
		if json.Unmarshal(text, &e) != nil || e.Message == "" {
			return exitError{exitRefused,
				fmt.Errorf("%s answers with status %d and a body that is no explanation", f.address, status)}
		}
		switch known = status == http.StatusOK; {
		case known && f.output == "text":
			return printExplanation(out, &e)
		case known:
			return printIndented(out, text)
		case e.AllocationKey != "" && e.State != "unknown":
			return f.unknown(out, text, e.Message)
		}
	}
	application, status, err := f.get(ctx, f.path("application", name))
	if err != nil {
		return refusedOr(err)
	}
	var e dao.ApplicationExplanation
	var refused dao.Error
	switch {
	case status == http.StatusOK && answer.Decode(application, &e) == nil:
		if f.output == "text" {
			return printApplicationExplanation(out, &e)
		}
		return printIndented(out, application)
	case !f.application: // what the server says of the key has more to say
		var e dao.Explanation
		_ = json.Unmarshal(text, &e)
		return f.unknown(out, text, e.Message)
	case json.Unmarshal(application, &refused) != nil || refused.Message == "":
		return exitError{exitRefused,
			fmt.Errorf("%s answers with status %d and a body that is no explanation", f.address, status)}
	}
	return f.unknown(out, application, fmt.Sprintf("%s: %s", name, refused.Message))
}

// path is the path of the explanation of a name. The server decodes a name twice, as YuniKorn does.
func (f *explainFlags) path(kind, name string) string {
	var wanted []string
	if f.expectedStart {
		wanted = append(wanted, "expectedStart")
	}
	if f.victims && kind == "ask" {
		wanted = append(wanted, "victims")
	}
	query := ""
	if len(wanted) > 0 {
		query = "?" + strings.Join(wanted, "&")
	}
	return "/ws/v1/partition/" + url.PathEscape(url.QueryEscape(f.partition)) + "/" + kind + "/" +
		url.PathEscape(url.QueryEscape(name)) + "/explain" + query
}

// unknown ends with what the server says of an unknown name, as text or JSON.
func (f *explainFlags) unknown(out io.Writer, text []byte, message string) error {
	if f.output == "text" {
		return exitError{exitRefused, errors.New(message)}
	}
	if err := printIndented(out, text); err != nil {
		return err
	}
	return exitError{exitRefused, nil}
}

func printIndented(out io.Writer, text []byte) error {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, text, "", "  "); err != nil {
		return exitError{exitRefused, err}
	}
	_, err := fmt.Fprintln(out, pretty.String())
	return err
}

func (f *explainFlags) get(ctx context.Context, path string) (body []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.address+path, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("--address: %w", err)
	}
	client, err := f.access.httpClient(f.address, f.timeout)
	if err != nil {
		return nil, 0, err
	}
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
