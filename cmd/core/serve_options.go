package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// defaultAdmin is the address of --admin without --admin-listen.
const defaultAdmin = "127.0.0.1:9081"

// optionNames are the names of options of package canopy in this program.
var optionNames = map[string]string{
	"Config.Text": "--config", "Config.File": "--config", "Config.Partitions": "--partitions",
	"ReloadFile": "SIGHUP", "DataDir": "--data-dir",
	"Recording.Dir": "--record",
	"GRPC.Address":  "--grpc-address", "HTTP.Address": "--http-address", "AdminAddress": "--admin-listen",
	"HTTP.AllowedOrigins": "--http-cors-origin", "HTTP.HostNames": "--http-host", "HTTP.WebRoot": "--web-root",
	"Debug": "--debug",
}

func optionName(field string) string {
	if flag, ok := securityOptionNames[field]; ok {
		return flag
	}
	if flag, ok := haOptionNames[field]; ok {
		return flag
	}
	if flag, ok := optionNames[field]; ok {
		return flag
	}
	return field
}

// options are the options of a server. The text of a --config that can be read only once, such as
// standard input, is read here, until ctx ends.
func (f *serveFlags) options(ctx context.Context, in io.Reader, log *zap.Logger,
	level *zap.AtomicLevel) (opt canopy.Options, err error) {
	opt = canopy.Options{
		Config: canopy.Config{NotWatched: !f.configWatch, History: f.history, Partitions: f.partitions,
			Limits: canopy.ConfigLimits{
				MaxBytes: f.bounds.MaxBytes, MaxValues: f.bounds.MaxValues, MaxQueues: f.bounds.MaxQueues,
				MaxDepth: f.bounds.MaxDepth,
			}},
		DataDir: f.dataDir, GRPC: f.grpc.GRPC, HTTP: f.http.HTTP, Usage: f.usage.Usage, Users: f.users.Users,
		Security: f.security.Security, Recording: f.record.options(), DurationTag: f.durationTag,
		Log: log, LogLevel: level, Debug: f.debug,
		Applications: canopy.Applications{
			CompletingTimeout: orNone(f.lifetimes.Completing), NewTimeout: f.lifetimes.New,
			CompletedRetention: orNone(f.lifetimes.Completed),
			RejectedRetention:  orNone(f.lifetimes.Rejected), MaxEnded: orNone(f.lifetimes.MaxEnded),
		},
		StrictPriorityClasses: f.strictClasses, AuditInterval: orNone(f.auditInterval), OptionName: optionName,
	}
	opt.Usage.Interval = orNone(opt.Usage.Interval)
	switch {
	case f.admin && f.adminListen == "":
		opt.AdminAddress = defaultAdmin
	case f.admin:
		opt.AdminAddress = f.adminListen
	case f.adminListen != "":
		return opt, cmdline.Exit(cmdline.Usage, errors.New("--admin-listen needs --admin"))
	}
	for flag, address := range map[string]string{"--grpc-address": opt.GRPC.Address, "--http-address": opt.HTTP.Address} {
		if _, _, err := net.SplitHostPort(address); address == "" { // a server without this API
			return opt, cmdline.Exit(cmdline.Usage, fmt.Errorf("%s: %w", flag, err))
		}
	}
	if f.config != "-" && !cmdline.IsOpenFile(f.config) {
		opt.Config.File = f.config
		return opt, nil
	}
	text, err := f.readOnce(ctx, in)
	if err != nil {
		return opt, cmdline.Exit(cmdline.Usage, fmt.Errorf("--config: %w", err))
	}
	opt.Config.Text, opt.Config.Name = string(text), f.config
	return opt, nil
}

// readOnce reads a --config that can be read only once, and may never end.
func (f *serveFlags) readOnce(ctx context.Context, in io.Reader) (text []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = cmdline.ReadConfig(f.config, in, f.bounds)
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, ctx.Err() // the goroutine is not waited for: the process ends
	}
}

// orNone is the option for a flag whose zero means none: the zero of options means their default.
func orNone[N int | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

// startError gives an error of canopy.Start its exit code, and prints the problems of a configuration.
func startError(err error, errs io.Writer) error {
	if bad := new(canopy.ConfigError); errors.As(err, &bad) {
		n := 0
		for _, p := range bad.Problems {
			fmt.Fprintf(errs, "%s:%s\n", bad.Name, p)
			if !p.Warning {
				n++
			}
		}
		return cmdline.Exit(cmdline.Refused, fmt.Errorf("--config: %s has %s", bad.Name, cmdline.Plural(n, "error")))
	}
	if errors.Is(err, configwatch.ErrNotRegular) {
		err = fmt.Errorf("%w: the name - reads standard input", err)
	}
	if option := new(canopy.OptionError); errors.As(err, &option) && option.Invalid {
		return cmdline.Exit(cmdline.Usage, err)
	}
	return cmdline.Exit(cmdline.Refused, err)
}
