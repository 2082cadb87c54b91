package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

const serveHelp = `Serve the scheduler interface over gRPC, and REST over HTTP, until SIGTERM or SIGINT.

When both ports are open, one line is printed on standard output:

  canopy ready grpc=127.0.0.1:3333 http=127.0.0.1:9080

With --admin the line also has admin=127.0.0.1:9081, or the address of --admin-listen. Only
the admin listener changes the configuration over REST. Without TLS and authentication it
must be a loopback address or a Unix socket (unix:/path).

--tls-cert and --tls-key encrypt connections. --tokens is a file of credentials, each with a
role: read (GET), submit (the scheduler interface) or admin (everything); 'canopy token new'
makes one. --tls-client-ca accepts client certificates, too. The files are read again when
they change. An address that other machines can reach needs TLS and authentication, or
--insecure. /healthz, /readyz and the health service of gRPC need no credentials.

The log is written to standard error. For port 0 a free port is used, which the line names.

An application without groups has the groups of its user where the partition has a
usergroupresolver: os asks the operating system, ldap a directory server. The settings of
ldap are files in --ldap-secrets: Host, Port, BaseDN, Filter, GroupAttr, ReturnAttr,
BindUser, BindPassword and, optional, SSL and Insecure. A configuration that needs them is
refused when one is missing.

The page at the HTTP address shows the queues, what waits and why, and what was preempted
for what. --web-root serves another page, such as a build of yunikorn-web, in its place.

With --demo a simulated cluster of tenants is behind the scheduler, in real time: jobs come
and go, gangs wait for each other, tasks are preempted, nodes are drained. --demo-load says
how much the tenants ask for.

Without --config, the embedded default configuration is in force until a resource manager
sends one. With --config the configurations of resource managers are ignored. The file is
read again when it changes (also when a ConfigMap is updated; see --config-watch) and on
SIGHUP. A configuration with errors, or one that a partition cannot apply, changes nothing:
the one in force stays, and the log has the reason.

An application whose asks and allocations have all ended completes after --completing-timeout,
one that never had an ask after --new-timeout, or never without that flag. Completed and
rejected applications are shown for --completed-retention and --rejected-retention, at most
--ended-limit of each.

With --data-dir accepted configurations survive a restart, and the latest one is in force
until another is accepted. A --config that differs from it becomes a new generation. A
history that is damaged, that has another format, or that another process has open is an
error; it is not changed. Usage over time (canopy usage) and ended applications are kept
there, too; without --data-dir usage is kept in memory for a day.

With --ha etcd the process is a member of a group. The members elect a leader by a lease in
etcd; it serves, the others stand by: over gRPC they answer UNAVAILABLE with the address of the
leader in the trailer canopy-leader, over HTTP they redirect to it. When the leader ends, another
member leads at once; when it dies, after --etcd-ttl. Resource managers then register again and
report what runs. The configuration of a term is --config of its member, or comes from the
resource manager. The ready line ends with ha=etcd; /readyz says whether the member leads.

With --record all that the scheduler decides upon is recorded: commands with their times,
answers of the resource manager, and a digest of the effects. 'canopy-lab recording play' makes
the decisions again and compares. Recording never delays a decision: what the disk does not
take is missing, and the recording and the log say so.

Logging never blocks: lines that standard error does not take wait in a buffer of
--log-buffer bytes, and are dropped and counted when it is full. Of lines with the same
message, --log-burst a second are logged; the others are counted.

SIGTERM and SIGINT end the process within 5 s. What has not ended after 4.5 s is named in the
log, and the exit code is 3. A second signal ends the process at once, unless it is the same one
within half a second; the exit code is 128 plus its number.

The exit code is 0 after a signal, 1 when the file has errors or a port cannot be
opened, and 2 when the file cannot be read or the arguments are invalid.`

const serveExamples = `  canopy serve
  canopy serve --demo --demo-load 1.5
  canopy serve --admin --admin-listen unix:/run/canopy/admin.sock
  canopy serve --config queues.yaml --log-format json
  canopy serve --ha etcd --etcd-endpoints etcd1:2379,etcd2:2379,etcd3:2379 \
    --advertise-grpc node1:3333 --advertise-http node1:9080
  canopy serve --grpc-address :3333 --http-address :9080 --tls-cert tls.crt --tls-key tls.key --tokens tokens.yaml`

// serveName is the name of the command.
const serveName = "serve"

// serveFlags are the flags as given.
type serveFlags struct {
	config        string
	partitions    []string // of config that are served; empty: all
	logLevel      string
	logFormat     string
	logBuffer     int
	logBurst      int
	configWatch   bool
	dataDir       string
	history       int
	auditInterval time.Duration
	admin         bool
	debug         bool
	strictClasses bool
	adminListen   string
	users         userFlags
	http          httpFlags
	usage         usageStoreFlags
	record        recordFlags
	durationTag   string // of applications, by which durations are learnt; empty: none
	lifetimes     lifecycle.Lifetimes
	grpc          grpcFlags
	security      securityFlags
	demo          demoFlags
	ha            haFlags
	bounds        queuesyaml.Options // of the file and of the configurations of resource managers
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     serveName,
		Short:   "Run the scheduler",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(cmdline.CheckBounds(f.bounds), f.checkAudit(), checkAboveZero(cmd.Flags(), aboveZero),
				checkLifetimes(f.lifetimes), f.users.check(), f.checkLog(), f.grpc.check(), f.http.check(),
				f.security.checkAddresses(f.grpc.Address, f.http.Address), f.usage.check(), f.record.check(),
				f.demo.check(cmd.Flags(), f.config), f.ha.check(cmd.Flags())); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			f.lifetimes = f.demo.lifetimes(f.lifetimes)
			ctx, stop := untilSignal(os.Exit, time.Now)
			defer stop()
			return serve(ctx, f, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "queues.yaml that overrides those of resource managers (- is standard input)")
	flags.StringSliceVar(&f.partitions, "partitions", nil,
		"`NAME,...` of the partitions of --config that this process serves, the others being served by other processes "+
			"or groups with the same file (default: all)")
	flags.StringVar(&f.grpc.Address, "grpc-address", "127.0.0.1:3333", "where resource managers connect")
	flags.StringVar(&f.http.Address, "http-address", "127.0.0.1:9080", "where REST is served")
	flags.BoolVar(&f.configWatch, "config-watch", true, "reload the file of --config when it changes")
	flags.StringVar(&f.dataDir, "data-dir", "", "directory of the history of configurations; default: it is not stored")
	flags.IntVar(&f.history, "config-history", 50, "how many configurations the history keeps")
	flags.BoolVar(&f.admin, "admin", false,
		"let local clients change the configuration, its priority classes and disruption budgets over REST")
	flags.BoolVar(&f.debug, "debug", false, "serve stacks and profiles of the process below /debug, and gRPC reflection")
	flags.StringVar(&f.adminListen, "admin-listen", "",
		"where --admin listens: a loopback address or unix:/path (default "+defaultAdmin+")")
	flags.StringVar(&f.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "console", "format of the log: console or json")
	flags.DurationVar(&f.auditInterval, "audit-interval", time.Minute,
		"how often the accounting is audited, in steps between decisions; /healthz shows the result; 0: only when health "+
			"is asked for")
	flags.IntVar(&f.logBuffer, "log-buffer", logging.DefaultBuffer,
		"bytes of log lines that wait for a reader of standard error; further lines are dropped and counted")
	flags.IntVar(&f.logBurst, "log-burst", logging.DefaultBurst,
		"how many log lines with the same message are written within a second, the others are counted; 0: all")
	flags.BoolVar(&f.strictClasses, "strict-priority-classes", false,
		"reject asks that have a priority and no priority class; existing shims name no class")
	f.users.add(flags)
	f.http.add(flags)
	f.usage.add(flags)
	f.record.add(flags)
	flags.StringVar(&f.durationTag, "duration-tag", "",
		"`TAG` of applications by whose values durations are learnt for the expected start of asks, besides by queue")
	addLifetimes(flags, &f.lifetimes)
	cmdline.AddBounds(flags, &f.bounds)
	f.grpc.add(flags)
	f.security.add(flags)
	f.demo.add(flags)
	f.ha.add(flags)
	return cmd
}

// serve runs the scheduler until ctx ends, which is a success, or a server fails.
func serve(ctx context.Context, f serveFlags, in io.Reader, out, errs io.Writer) (err error) {
	term := newTermination()
	defer term.end()
	defer context.AfterFunc(ctx, term.begin)()
	log, level, err := f.newLog(errs)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	defer term.step("the log", func() { _ = log.Close() }) // the error is that standard error is not read
	term.setReport(reportStuck(log))
	server, err := f.start(ctx, in, errs, log.Logger, &level)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // a signal came before the start was complete
	case err != nil:
		return err
	}
	term.setClosing(server.Closing)
	defer func() { err = errors.Join(err, server.Close()) }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go reloadOnSignal(running, signals, server, log.Logger, f.config)
	unannounced := make(chan error, 2)
	f.announce(server, log.Logger, out, unannounced)
	demoEnd := f.demo.run(running, server, log.Logger, unannounced)
	defer demoEnd()
	defer cancel()
	select {
	case <-ctx.Done():
		log.Info("stopping")
		return nil
	case <-server.Done():
		err = server.Err()
	case err = <-unannounced:
	}
	term.begin()
	return cmdline.Exit(cmdline.Refused, err)
}

// start starts the server. Its errors have exit codes, except that of ctx.
func (f *serveFlags) start(ctx context.Context, in io.Reader, errs io.Writer, log *zap.Logger,
	level *zap.AtomicLevel) (runningScheduler, error) {
	opt, err := f.options(ctx, in, log, level)
	if err != nil {
		return nil, err
	}
	server, err := f.ha.start(ctx, opt)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, startError(err, errs)
	}
	return server, err
}

func (f *serveFlags) checkAudit() error {
	if f.auditInterval < 0 {
		return fmt.Errorf("--audit-interval is %v, and must not be below 0", f.auditInterval)
	}
	return nil
}

// aboveZero are the flags whose value is above 0 (OBS-87, RMI-37).
var aboveZero = []string{
	"config-history", "grpc-max-connections", "grpc-max-silent-streams", "grpc-first-message", "rm-max-message-bytes",
	"rm-max-message-elements", "rm-decode-bytes", "rm-max-undelivered-bytes", "rm-undelivered-timeout", "rm-timeout",
	"http-max-connections", "http-max-large-answers", "http-max-live-streams",
}

// checkAboveZero reports flags whose value is not above 0.
func checkAboveZero(flags *pflag.FlagSet, names []string) error {
	var wrong []error
	for _, name := range names {
		if v := flags.Lookup(name).Value.String(); v[0] == '-' || v == "0" || v == "0s" {
			wrong = append(wrong, fmt.Errorf("--%s is %s, and must be above 0", name, v))
		}
	}
	return errors.Join(wrong...)
}
