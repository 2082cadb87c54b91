package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// defaultWatch is the interval of --watch without a value.
const defaultWatch = 2 * time.Second

// readerFlags are the flags of commands that show the state of a running server.
type readerFlags struct {
	client
	queue, resource, sort string
	limit                 int
	watch                 time.Duration
}

// command returns a command that prints once, or after each interval.
func (f *readerFlags) command(cmd *cobra.Command, watch time.Duration,
	show func(ctx context.Context, text io.Writer) (value any, err error)) *cobra.Command {
	cmd.Args = cmdline.NoArguments
	cmd.Long += clientExit
	cmd.RunE = untilInterrupt(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
		return f.show(ctx, cmd.OutOrStdout(), show)
	})
	flags := cmd.Flags()
	f.add(flags, defaultREST)
	flags.Lookup("output").Usage += "; with --watch, json is one object per line"
	f.watch = watch
	flags.VarP(cmdline.Checked(&f.watch, "duration", parseWatch), "watch", "w",
		"print again after each `INTERVAL`, until an interrupt: --watch, or --watch=10s; 0: print once")
	flags.Lookup("watch").NoOptDefVal = defaultWatch.String()
	return cmd
}

func parseWatch(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d != 0 && d < 100*time.Millisecond {
		return d, cmdline.FlagProblem("it must be 0, or 100ms or more")
	}
	return d, nil
}

// addQueue, addResource, addSort and addLimit add flags that several commands have.
func (f *readerFlags) addQueue(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.queue, "queue", "", usage)
}

func (f *readerFlags) addResource(cmd *cobra.Command, none string) {
	cmd.Flags().StringVar(&f.resource, "resource", "", "`NAME` of the resource in text; not given: "+none)
}

func (f *readerFlags) addSort(cmd *cobra.Command, orders ...string) {
	cmdline.TextFlag(cmd.Flags(), &f.sort, "sort", orders[0], strings.Join(orders, ", "), cmdline.OneOf(orders...))
}

func (f *readerFlags) addLimit(cmd *cobra.Command, limit int) {
	cmdline.IntFlag(cmd.Flags(), &f.limit, "limit", limit, "how many to print in text; 0: all", 0)
}

// show runs once, or after each interval, what prints an answer: show to text, or the value that it returns as JSON.
func (f *readerFlags) show(ctx context.Context, out io.Writer,
	show func(ctx context.Context, text io.Writer) (value any, err error)) error {
	for {
		var page bytes.Buffer
		value, err := show(ctx, &page)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if f.output == "json" {
			page.Reset()
			in := json.NewEncoder(&page)
			in.SetEscapeHTML(false)
			if f.watch == 0 {
				in.SetIndent("", "  ")
			}
			if err := in.Encode(value); err != nil {
				return err
			}
		} else if f.watch > 0 {
			page.WriteByte('\n')
			if cmdline.IsTerminal(out) { // each page replaces the one before
				page = *bytes.NewBuffer(append([]byte("\x1b[H\x1b[2J"), page.Bytes()...))
			}
		}
		if _, err := page.WriteTo(out); err != nil {
			return err
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
