package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const operatorHelp = `They need the admin listener of the server (canopy serve --admin), and, where the
server has tokens, one of the role admin. What is switched is kept over a restart with
--data-dir, and canopy explain says which asks wait because of it.

The exit code is 0 when it is done or already the case, 1 when a name is unknown or the
server refuses or does not answer, and 2 when the arguments are invalid.`

// operatorAction is an action about one kind of object.
type operatorAction struct {
	verb, help string
	to         string // what a second argument is; empty: there is none
}

// operatorCommand is a command with the actions about a kind of object (OPS-6).
func operatorCommand(kind, use, short string, actions ...operatorAction) *cobra.Command {
	cmd := &cobra.Command{Use: kind, Short: short, Long: short + ".\n\n" + operatorHelp, Args: noArguments}
	for _, a := range actions {
		var f operatorFlags
		sub := &cobra.Command{
			Use: strings.TrimSpace(a.verb + " " + use + " " + a.to), Short: a.help, Long: a.help + ".\n\n" + operatorHelp,
			Example: a.example(kind),
			Args: func(_ *cobra.Command, args []string) error {
				return a.checkArguments(kind, use, args)
			},
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := f.check(); err != nil {
					return exitError{exitUsage, err}
				}
				ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
				defer stop()
				return f.run(ctx, pathKinds[kind], a.verb, args, cmd.OutOrStdout())
			},
		}
		f.add(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

func (a *operatorAction) example(kind string) string {
	text := fmt.Sprintf("  canopy %s %s %s", kind, a.verb, exampleNames[kind])
	if a.to != "" {
		text += " root.eng"
	}
	return text
}

func (a *operatorAction) checkArguments(kind, use string, args []string) error {
	want, text := 1, "one argument: "+use
	if a.to != "" {
		want, text = 2, "two arguments: "+use+" "+a.to
	}
	if len(args) != want || slices.Contains(args, "") {
		return exitError{exitUsage, fmt.Errorf("%s %s takes %s", kind, a.verb, text)}
	}
	return nil
}

// pathKinds are the kinds of objects in paths, and exampleNames one name of each.
var (
	pathKinds    = map[string]string{"queue": "queue", "app": "application", "node": "node"}
	exampleNames = map[string]string{"queue": "root.eng", "app": "spark-etl", "node": "n7"}
)

func operatorCommands() []*cobra.Command {
	return []*cobra.Command{
		operatorCommand("queue", "QUEUE", "Stop, drain and start queues of a running server",
			operatorAction{verb: "stop", help: "Place nothing more in a queue and those below; what runs stays"},
			operatorAction{verb: "drain",
				help: "Accept no new applications in a queue and those below; those that are there run to the end"},
			operatorAction{verb: "start", help: "End the stop and the drain of a queue"}),
		operatorCommand("app", "APPLICATION", "Hold, move and cancel applications of a running server",
			operatorAction{verb: "hold", help: "Place no further asks of an application; what runs stays"},
			operatorAction{verb: "release", help: "End the hold of an application"},
			operatorAction{verb: "move",
				help: "Move an application with all that it has to another leaf queue, within the quotas of that", to: "QUEUE"},
			operatorAction{verb: "cancel",
				help: "End an application: withdraw its asks, and have the resource manager end what runs"}),
		operatorCommand("node", "NODE", "Cordon and drain nodes of a running server",
			operatorAction{verb: "cordon",
				help: "Place nothing more on a node, whatever the resource manager says of it; what runs stays"},
			operatorAction{verb: "drain",
				help: "Cordon a node, and have the resource manager end what runs there, within disruption budgets"},
			operatorAction{verb: "uncordon", help: "Let what the resource manager says of a node count again, and end a drain"}),
	}
}

// operatorFlags are the flags as given.
type operatorFlags struct {
	address, partition, output string
	timeout                    time.Duration
	access                     clientAccess
}

func (f *operatorFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", defaultAdmin, "`HOST:PORT` of the admin listener of a running server")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print: text or json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to answer")
	f.access.add(flags)
}

func (f *operatorFlags) check() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(f.address); err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	if f.timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout is %v, and must be above 0", f.timeout))
	}
	return errors.Join(append(wrong, checkOutput(f.output))...)
}

// run has the server carry out an action, and prints whether it changed anything.
func (f *operatorFlags) run(ctx context.Context, kind, verb string, names []string, out io.Writer) error {
	client, err := f.access.httpClient(f.address, f.timeout)
	if err != nil {
		return err
	}
	// The server decodes a name twice, as YuniKorn does.
	path := "/ws/v1/partition/" + url.PathEscape(url.QueryEscape(f.partition)) + "/" + kind + "/" +
		url.PathEscape(url.QueryEscape(names[0])) + "/" + verb
	for _, name := range names[1:] {
		path += "/" + url.PathEscape(url.QueryEscape(name))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+f.address+path, nil)
	if err != nil {
		return exitError{exitUsage, fmt.Errorf("--address: %w", err)}
	}
	got, err := client.Do(r)
	if err != nil {
		return refusedOr(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes))
	if err != nil {
		return exitError{exitRefused, fmt.Errorf("%s: %w", f.address, err)}
	}
	if got.StatusCode != http.StatusOK {
		var refused dao.Error
		if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
			return exitError{exitRefused,
				fmt.Errorf("%s answers with status %d: is it an admin listener?", f.address, got.StatusCode)}
		}
		return exitError{exitRefused, errors.New(refused.Message)}
	}
	var done dao.Operated
	if err := answer.Decode(text, &done); err != nil {
		return exitError{exitRefused, fmt.Errorf("%s answers with a body that is no action: %w", f.address, err)}
	}
	if f.output == "json" {
		return printIndented(out, text)
	}
	state := strings.TrimSpace(pastOf[verb] + " " + done.Queue)
	if !done.Changed {
		state += " before"
	}
	_, err = fmt.Fprintf(out, "%s %s was %s\n", kind, strings.TrimSpace(done.Name), state)
	return err
}

// pastOf are the actions as they are reported.
var pastOf = map[string]string{"stop": "stopped", "start": "started", "drain": "set draining", "hold": "put on hold",
	"release": "released", "cancel": "cancelled", "move": "moved to", "cordon": "cordoned", "uncordon": "uncordoned"}
