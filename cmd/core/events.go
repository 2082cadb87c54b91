package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
)

const eventsHelp = `Print the events of a running server, one line each: the time, the object
and the change.

Without --since and --until, all events that the server keeps are printed. With --follow, new
events are printed as they happen, until the server ends, the reader is too slow, or an
interrupt; events since --since come first, without it no past ones.

The exit code is 0 when all events were printed, 1 when the server cannot be reached or
rejects the request, and 2 when the arguments are invalid.`

const eventsExamples = `  canopy events --since 5m
  canopy events --since 2026-01-02T15:00:00Z --until 2026-01-02T15:05:00Z
  canopy events --since 5m --follow --output json | jq .message`

// eventsFlags are the flags as given.
type eventsFlags struct {
	address, since, until, output string
	follow                        bool
	timeout                       time.Duration
	access                        clientAccess
	client                        *http.Client
}

// eventsCommand prints the event history of a server (OBS-38).
func eventsCommand() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:     "events",
		Short:   "Print the events of a running server",
		Long:    eventsHelp,
		Example: eventsExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			out := bufio.NewWriter(cmd.OutOrStdout())
			err := errors.Join(f.run(ctx, out), out.Flush())
			if err != nil && ctx.Err() == nil {
				return refusedOr(err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", "127.0.0.1:9080", "`HOST:PORT` of the REST interface of a running server")
	flags.StringVar(&f.since, "since", "", "events from this `TIME` on: RFC 3339, or how long ago, such as 5m")
	flags.StringVar(&f.until, "until", "", "events before this `TIME`: RFC 3339, or how long ago, such as 1m")
	flags.BoolVarP(&f.follow, "follow", "f", false, "print new events as they happen")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second,
		"how long to wait for each answer; with --follow for the first event record, which comes at once")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print: text, or json for one object per line")
	f.access.add(flags)
	return cmd
}

func (f *eventsFlags) check() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(f.address); err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	if f.timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout is %v, and must be above 0", f.timeout))
	}
	if f.follow && f.until != "" {
		wrong = append(wrong, errors.New("--until and --follow exclude each other"))
	}
	return errors.Join(append(wrong, checkTime("--since", f.since), checkTime("--until", f.until),
		checkOutput(f.output))...)
}

// checkTime rejects a text that is neither RFC 3339 nor a duration of zero or more; empty: not given.
func checkTime(flag, text string) error {
	if text == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return nil
	}
	return fmt.Errorf("%s is a time such as 2026-01-02T15:04:05Z, or how long ago, such as 5m; not %q", flag, text)
}

// run prints events until there are no more.
func (f *eventsFlags) run(ctx context.Context, out *bufio.Writer) (err error) {
	if f.client, err = f.access.httpClient(f.address, 0); err != nil {
		return err
	}
	if f.follow {
		return f.followStream(ctx, out)
	}
	return f.printBatches(ctx, out)
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
		if err := f.getBatch(ctx, query, &batch); err != nil {
			return err
		}
		for _, record := range batch.EventRecords {
			if err := f.print(out, record); err != nil {
				return err
			}
		}
		if batch.EventRecords == nil || batch.NextID > batch.HighestID || batch.NextID == 0 {
			return nil
		}
		query.Set("start", strconv.FormatUint(batch.NextID, 10))
	}
}

// getBatch reads one answer, within the time that the flags allow.
func (f *eventsFlags) getBatch(ctx context.Context, query url.Values, batch any) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	body, err := f.get(ctx, "/ws/v1/events/batch?"+query.Encode())
	if err != nil {
		return f.explainTimeout(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(body, maxAnswerBytes))
	if err == nil {
		err = answer.Decode(text, batch)
	}
	if err := errors.Join(err, body.Close()); err != nil {
		return f.explainTimeout(ctx, fmt.Errorf("%s: %w", f.address, err))
	}
	return nil
}

// errNoAnswer is the cause of a context that ended because of --timeout.
var errNoAnswer = errors.New("no answer in time")

// explainTimeout says in words that the server did not answer in time, if that is the reason of err.
func (f *eventsFlags) explainTimeout(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errNoAnswer) {
		return fmt.Errorf("%s did not answer within %s (--timeout)", f.address, f.timeout)
	}
	return err
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
	body, err := f.get(ctx, path)
	if err != nil {
		return f.explainTimeout(ctx, err)
	}
	defer body.Close()
	in := json.NewDecoder(bufio.NewReader(body))
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
		if err := errors.Join(f.print(out, record), out.Flush()); err != nil {
			return err
		}
	}
}

// get sends a GET. A status other than 200 is an error with the message of the server.
func (f *eventsFlags) get(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	var refusal struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &refusal) != nil || refusal.Message == "" {
		refusal.Message = "no such path: is it a canopy server?"
	}
	return nil, fmt.Errorf("%s answers %s: %s", f.address, response.Status, refusal.Message)
}
