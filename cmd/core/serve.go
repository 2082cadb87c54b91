package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

const serveHelp = `Serve the scheduler interface over gRPC, and REST over HTTP, until SIGTERM or SIGINT.

When both ports are open, one line is printed on standard output:

  canopy ready grpc=127.0.0.1:3333 http=127.0.0.1:9080

Everything else goes to standard error. A port 0 picks a free port, which the line names.

Without --config, the embedded default configuration is used until a resource manager
sends its own. With --config the file stays in force, whatever a resource manager sends.

An application that has nothing pending and nothing running completes after a while. It is
shown for some time after that, as is one that was rejected; flags say how long, and how many
are shown at most.

The exit code is 0 after a signal, 1 when the file has errors or a port cannot be
opened, and 2 when the file cannot be read or the arguments make no sense.`

const serveExamples = `  canopy serve
  canopy serve --config queues.yaml --grpc-address 0.0.0.0:3333 --log-format json`

// serveFlags is the command line of serve.
type serveFlags struct {
	config      string
	grpcAddress string
	httpAddress string
	logLevel    string
	logFormat   string
	lifetimes   objects.Lifetimes
	bounds      configs.Options // of the file, and of what resource managers send
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the scheduler",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkBounds(f.bounds), checkLifetimes(f.lifetimes)); err != nil {
				return exitError{exitUsage, err}
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			return serve(ctx, f, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "queues.yaml that stays in force (- is standard input)")
	flags.StringVar(&f.grpcAddress, "grpc-address", "127.0.0.1:3333", "where resource managers connect")
	flags.StringVar(&f.httpAddress, "http-address", "127.0.0.1:9080", "where REST is served")
	flags.StringVar(&f.logLevel, "log-level", "info", "what is logged: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "console", "how it is logged: console or json")
	addLifetimes(flags, &f.lifetimes)
	addBounds(flags, &f.bounds)
	return cmd
}

// serve runs until ctx ends, which is a success.
func serve(ctx context.Context, f serveFlags, in io.Reader, out, errs io.Writer) error {
	log, err := newLogger(f.logLevel, f.logFormat, errs)
	if err != nil {
		return exitError{exitUsage, err}
	}
	var conf *configs.Config // nil: until a resource manager sends one, the default
	if f.config != "" {
		if conf, err = loadConfig("--config", f.config, in, errs, f.bounds); err != nil {
			return err
		}
	}
	rpc, err := listen("--grpc-address", f.grpcAddress)
	if err != nil {
		return err
	}
	web, err := listen("--http-address", f.httpAddress)
	if err != nil {
		return errors.Join(err, rpc.Close())
	}
	s := newServers(conf, f, log)
	s.start(rpc, web)
	if conf != nil {
		log.Info("the configuration of the file stays in force", zap.String("file", f.config),
			zap.String("checksum", conf.Checksum))
	}
	if _, err := fmt.Fprintf(out, "canopy ready grpc=%s http=%s\n", rpc.Addr(), web.Addr()); err != nil {
		s.fail(fmt.Errorf("announce readiness: %w", err))
	}
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case <-s.failed:
	}
	s.stop()
	if s.err != nil {
		return exitError{exitRefused, s.err}
	}
	return nil
}

// listen opens a port. flag is for the error.
func listen(flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, exitError{exitUsage, fmt.Errorf("%s: %w", flag, err)}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, exitError{exitRefused, fmt.Errorf("%s: %w", flag, err)}
	}
	return l, nil
}
