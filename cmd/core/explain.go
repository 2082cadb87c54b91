package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
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
looked up as a key first; --application looks it up as an application only.` + clientExit

const explainExamples = `  canopy explain web-1
  canopy explain spark-etl --application
  canopy explain web-1 --address 127.0.0.1:9080 --output json`

// explainFlags are the flags as given.
type explainFlags struct {
	client
	application            bool
	expectedStart, victims bool
}

// explainCommand explains the state of an ask or an allocation (OBS-39).
func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use: "explain KEY|APPLICATION", Long: explainHelp,
		Short:   "Explain why an ask or the asks of an application are pending, and what would help",
		Example: explainExamples, Args: exactly("KEY|APPLICATION"),
		RunE: untilInterrupt(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return f.run(ctx, args[0], cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.application, "application", false, "explain the application of this ID, and no key")
	flags.BoolVar(&f.expectedStart, "expected-start", true,
		"also say when the ask is expected to start, which a large partition takes seconds for")
	flags.BoolVar(&f.victims, "victims", true,
		"also say of one ask that may preempt what it would preempt or lacks, which delays decisions of a large partition "+
			"by milliseconds")
	f.add(flags, defaultREST)
	return cmd
}

// run prints the explanation of a key or of an application. An unknown name is exitRefused; its JSON is printed as
// well.
func (f *explainFlags) run(ctx context.Context, name string, out io.Writer) error {
	var ask []byte
	var e explanation
	if !f.application {
		text, status, err := f.ask(ctx, http.MethodGet, f.explanationOf("ask", name), nil)
		switch {
		case err != nil:
			return err
		case json.Unmarshal(text, &e) != nil || e.Message == "":
			return f.refusal(nil, status)
		case status == http.StatusOK:
			return f.print(out, text, func(out io.Writer) error { return printExplanation(out, &e) })
		case e.Key != "" && e.State != scheduler.KeyUnknown:
			return f.unknown(out, text, e.Message)
		}
		ask = text
	}
	text, status, err := f.ask(ctx, http.MethodGet, f.explanationOf("application", name), nil)
	if err != nil {
		return err
	}
	var a applicationExplanation
	switch {
	case status == http.StatusOK && answer.Decode(text, &a) == nil:
		return f.print(out, text, func(out io.Writer) error { return printApplicationExplanation(out, &a) })
	case !f.application: // what the server says of the key has more to say
		return f.unknown(out, ask, e.Message)
	case json.Unmarshal(text, &e) != nil || e.Message == "":
		return f.refusal(nil, status)
	}
	return f.unknown(out, text, name+": "+e.Message)
}

// explanationOf returns the path of the explanation of a name.
func (f *explainFlags) explanationOf(kind, name string) string {
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
	return f.path(kind, name, "explain") + query
}

// unknown ends with what the server says of an unknown name, as text or JSON.
func (f *explainFlags) unknown(out io.Writer, text []byte, message string) error {
	if f.output != "json" {
		return errors.New(message)
	}
	if err := printIndented(out, text); err != nil {
		return err
	}
	return cmdline.Exit(cmdline.Refused, nil)
}
