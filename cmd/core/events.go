package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

const eventsHelp = `Print the events of a running server, one line each: the time, the object
and the change.

Without --since and --until, all events that the server keeps are printed. With --follow, new
events are printed as they happen, until the server ends, the reader is too slow, or an
interrupt; events since --since come first, without it no past ones.` + clientExit

const eventsExamples = `  canopy events --since 5m
  canopy events --since 2026-01-02T15:00:00Z --until 2026-01-02T15:05:00Z
  canopy events --since 5m --follow --output json | jq .message`

// eventsFlags are the flags as given.
type eventsFlags struct {
	client
	since, until string
	follow       bool
}

// eventsCommand prints the event history of a server (OBS-38).
func eventsCommand() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use: "events", Short: "Print the events of a running server", Long: eventsHelp, Example: eventsExamples,
		Args: cmdline.NoArguments,
		RunE: untilInterrupt(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if f.follow && f.until != "" {
				return cmdline.Exit(cmdline.Usage, errors.New("--until and --follow exclude each other"))
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			print := f.printBatches
			if f.follow {
				print = f.followStream
			}
			if err := errors.Join(print(ctx, out), out.Flush()); ctx.Err() == nil {
				return err
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	cmdline.TextFlag(flags, &f.since, "since", "", "events from this `TIME` on: RFC 3339, or how long ago, such as 5m",
		cmdline.TimeOrAgo)
	cmdline.TextFlag(flags, &f.until, "until", "", "events before this `TIME`: RFC 3339, or how long ago, such as 1m",
		cmdline.TimeOrAgo)
	flags.BoolVarP(&f.follow, "follow", "f", false, "print new events as they happen")
	f.addServer(flags, defaultREST)
	cmdline.OutputFlag(flags, &f.output)
	return cmd
}

// printBatches prints the events that the server keeps. The number of events of an answer is bounded,
// so it asks until there are no more.
func (f *eventsFlags) printBatches(ctx context.Context, out *bufio.Writer) error {
	query := url.Values{"since": {f.since}}
	if f.since == "" {
		query.Set("since", time.Unix(0, 0).UTC().Format(time.RFC3339))
	}
	if f.until != "" {
		query.Set("until", f.until)
	}
	for {
		var batch struct {
			HighestID    uint64
			NextID       uint64
			EventRecords []json.RawMessage
		}
		if err := f.read(ctx, "/ws/v1/events/batch?"+query.Encode(), &batch); err != nil {
			return err
		}
		for _, record := range batch.EventRecords {
			if err := f.printRecord(out, record); err != nil {
				return err
			}
		}
		if batch.EventRecords == nil || batch.NextID > batch.HighestID || batch.NextID == 0 {
			return nil
		}
		query.Set("start", strconv.FormatUint(batch.NextID, 10))
	}
}

// errNoAnswer is the cause of a context that ended because of --timeout.
var errNoAnswer = errors.New("no answer in time")

// explainTimeout says in words that the stream did not begin in time, if that is the reason of err.
func (f *eventsFlags) explainTimeout(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		err = context.DeadlineExceeded
	}
	return f.plainTimeout(err)
}

// errStreamEnded means that there may be more events than were printed.
var errStreamEnded = errors.New("the server has ended the stream")

// followStream prints events as they happen. It does not return before the stream ends.
func (f *eventsFlags) followStream(ctx context.Context, out *bufio.Writer) error {
	path := "/ws/v1/events/stream"
	if f.since != "" {
		path += "?" + url.Values{"since": {f.since}}.Encode()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(f.timeout, func() { cancel(errNoAnswer) })
	defer late.Stop()
	answer, err := f.send(ctx, 0, http.MethodGet, path, nil)
	if err != nil {
		return f.explainTimeout(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return f.refusal(text, answer.StatusCode)
	}
	in := json.NewDecoder(bufio.NewReader(answer.Body))
	var first json.RawMessage
	if err := in.Decode(&first); err != nil { // the record with the instance UUID
		return f.explainTimeout(ctx, fmt.Errorf("%s: %w", f.address, err))
	}
	late.Stop() // the stream may be silent for as long as nothing happens
	for {
		var record json.RawMessage
		switch err := in.Decode(&record); {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s: %w", f.address, errStreamEnded)
		case err != nil:
			return fmt.Errorf("%s: %w", f.address, err)
		}
		if err := errors.Join(f.printRecord(out, record), out.Flush()); err != nil {
			return err
		}
	}
}
