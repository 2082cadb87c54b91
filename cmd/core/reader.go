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
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// defaultWatch is the interval of --watch without a value.
const defaultWatch = 2 * time.Second

// readerFlags are those of all commands that show the state of a running server.
type readerFlags struct {
	address, partition, output string
	watch, timeout             time.Duration
	access                     clientAccess
}

func (f *readerFlags) add(flags *pflag.FlagSet, watch time.Duration) {
	flags.StringVar(&f.address, "address", "127.0.0.1:9080", "`HOST:PORT` of the REST interface of a running server")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	flags.StringVarP(&f.output, "output", "o", "text",
		"how to print: text, or json; with --watch, json is one object per line")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to answer")
	flags.DurationVarP(&f.watch, "watch", "w", watch,
		"print again after each `INTERVAL`, until an interrupt: --watch, or --watch=10s; 0: print once")
	flags.Lookup("watch").NoOptDefVal = defaultWatch.String()
	f.access.add(flags)
}

func (f *readerFlags) check() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(f.address); err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	if f.timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout is %v, and must be above 0", f.timeout))
	}
	if f.watch != 0 && f.watch < 100*time.Millisecond {
		wrong = append(wrong, fmt.Errorf("--watch is %v, and must be 0, or 100ms or more", f.watch))
	}
	if f.partition == "" {
		wrong = append(wrong, errors.New("--partition is empty"))
	}
	return errors.Join(append(wrong, checkOutput(f.output))...)
}

// show runs once, or after each interval, what prints an answer: show to text, or the value that it returns as JSON.
func (f *readerFlags) show(cmd *cobra.Command,
	show func(ctx context.Context, text io.Writer) (value any, err error)) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	out := cmd.OutOrStdout()
	for {
		var page bytes.Buffer
		value, err := show(ctx, &page)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return refusedOr(err)
		}
		if f.output == "json" {
			page.Reset()
			in := json.NewEncoder(&page)
			in.SetEscapeHTML(false)
			if f.watch == 0 {
				in.SetIndent("", "  ")
			}
			if err := in.Encode(value); err != nil {
				return exitError{exitRefused, err}
			}
		} else if f.watch > 0 {
			page.WriteByte('\n')
			if isTerminal(out) { // each page replaces the one before
				page = *bytes.NewBuffer(append([]byte("\x1b[H\x1b[2J"), page.Bytes()...))
			}
		}
		if _, err := page.WriteTo(out); err != nil {
			return exitError{exitRefused, err}
		}
		if f.watch == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.watch):
		}
	}
}

// path is a path below the partition.
func (f *readerFlags) path(rest string) string {
	return "/ws/v1/partition/" + url.PathEscape(url.QueryEscape(f.partition)) + "/" + rest
}

// read decodes an answer. A status other than 200 is an error with the message of the server.
func (f *readerFlags) read(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.address+path, nil)
	if err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	client, err := f.access.httpClient(f.address, f.timeout)
	if err != nil {
		return err
	}
	got, err := client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode == http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes))
		if err == nil {
			err = answer.Decode(text, into)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.address, err)
		}
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(got.Body, 4096))
	var refusal dao.Error
	switch {
	case json.Unmarshal(text, &refusal) != nil || refusal.Message == "":
		return fmt.Errorf("%s answers %s: it does not have this; is it a canopy server of this version, with usage kept?",
			f.address, got.Status)
	case refusal.Message == "Partition not found":
		return fmt.Errorf("there is no partition %q%s", f.partition, f.partitionHint(ctx))
	}
	return fmt.Errorf("%s: %s", f.address, refusal.Message)
}

// partitionHint names the partitions that there are.
func (f *readerFlags) partitionHint(ctx context.Context) string {
	var all []struct{ Name string }
	if f.read(ctx, "/ws/v1/partitions", &all) != nil || len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return ": " + oneOf(f.partition, names)
}
