package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// offlineFlags are the flags of commands that evaluate a configuration without a server.
type offlineFlags struct {
	config    string
	partition string
	output    string
	bounds    queuesyaml.Options
}

func (f *offlineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "queues.yaml `FILE` that is evaluated (- is standard input)")
	flags.StringVar(&f.partition, "partition", "default", "`NAME` of the partition")
	cmdline.OutputFlag(flags, &f.output)
	cmdline.AddBounds(flags, &f.bounds)
}

func (f *offlineFlags) check() error {
	var missing error
	if f.config == "" {
		missing = errors.New("--config names no file")
	}
	return errors.Join(missing, cmdline.CheckBounds(f.bounds))
}

// loadPartition reads the configuration and builds the partition. These commands have no verdict for
// a configuration with errors, so its errors are usage errors.
func (f *offlineFlags) loadPartition(cmd *cobra.Command) (*offline.Partition, error) {
	conf, err := cmdline.LoadConfig("--config", f.config, cmd.InOrStdin(), cmd.ErrOrStderr(), f.bounds)
	if err != nil {
		return nil, cmdline.UsageError(err)
	}
	w, err := offline.New(conf, f.partition)
	if err != nil {
		return nil, cmdline.UsageError(err)
	}
	return w, nil
}

// lineWriter writes texts, each on a line, until a write fails; err is its error.
type lineWriter struct {
	out io.Writer
	err error
}

func (l *lineWriter) add(text string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.out, text+"\n")
	}
}
