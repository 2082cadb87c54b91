// Command canopy-shim-kubernetes schedules the pods of a Kubernetes cluster that name it as their scheduler. It watches
// the cluster, speaks the scheduler interface over gRPC, and binds and deletes pods as the scheduler says.
//
//	informers  ->  session: what the scheduler has been told, against what the cluster has  ->  three streams
//	API calls  <-  session                                                                 <-  their answers
//
// The state of a session is what the scheduler has been told, and one goroutine has it. When a stream ends, the session
// is thrown away: the next one registers again, and tells everything that the informers know.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var version = "unknown" // make sets it

func main() {
	f := flags{settings: settings{patience: 30 * time.Second}}
	f.register(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "canopy-shim-kubernetes:", err)
		os.Exit(1)
	}
}

// flags are the settings that say where the others are.
type flags struct {
	settings
	address, rest, caCert, tokenFile, kubeconfig, lease, metricsAddress string
	qps                                                                 float64
}

// register defines the flags.
func (f *flags) register(set *flag.FlagSet) {
	set.StringVar(&f.address, "address", "127.0.0.1:3333", "gRPC `address` of the scheduler")
	set.StringVar(&f.rest, "rest-address", "",
		"`URL` of the admin listener of the scheduler, such as http://127.0.0.1:9081: its priority classes and\n"+
			"disruption budgets become those of the cluster, and others are deleted; empty: the scheduler keeps its own")
	set.StringVar(&f.caCert, "ca-cert", "",
		"PEM `file` with the authority of the scheduler, which speaks TLS; empty: without TLS")
	set.StringVar(&f.tokenFile, "token-file", "",
		"`file` with the token for the scheduler, read at each call; its role is submit, or admin with --rest-address;\n"+
			"empty: none")
	set.StringVar(&f.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"),
		"kubeconfig `file` of the cluster; empty: $KUBECONFIG, or the service account of this pod")
	set.Float64Var(&f.qps, "kube-api-qps", 200, "most API calls a second to the cluster, at least 1; bursts: twice that")
	set.StringVar(&f.lease, "leader-elect", "",
		"`NAMESPACE/NAME` of a Lease: of the replicas with it, the holder schedules and the others wait;\n"+
			"empty: this one schedules")
	set.StringVar(&f.metricsAddress, "metrics-address", "",
		"`address`, such as :9090, of /metrics, /healthz and /readyz over HTTP; empty: they are not served")
	set.BoolFunc("version", "print the version, and end", func(string) error {
		fmt.Println("canopy-shim-kubernetes", version)
		os.Exit(0)
		return nil
	})
	set.StringVar(&f.rmID, "rm-id", "kubernetes", "`ID` of this resource manager")
	set.StringVar(&f.schedulerName, "scheduler-name", "canopy", "pods with this spec.schedulerName are scheduled: `name`")
}

// settings of the shim.
type settings struct {
	rmID, schedulerName string
	patience            time.Duration // how long a pod group may be missing before it is said
	rest                *restClient   // where priority classes and disruption budgets are put; nil: nowhere
}

// run connects to both sides and schedules until ctx ends.
func (f *flags) run(ctx context.Context) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(max(f.qps, 1)), int(2*max(f.qps, 1))
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	conn, err := dial(f.address, f.caCert, f.tokenFile)
	if err != nil {
		return err
	}
	defer conn.Close()
	if f.rest != "" {
		if f.settings.rest, err = newRESTClient(f.rest, f.caCert, f.tokenFile); err != nil {
			return err
		}
	}
	m := newMetrics()
	ctx, stop := context.WithCancel(ctx) // the server of metrics ends with the rest
	group, ctx := errgroup.WithContext(ctx)
	if f.metricsAddress != "" {
		server := &http.Server{Addr: f.metricsAddress, Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error {
			if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("--metrics-address: %w", err)
			}
			return nil
		})
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	}
	group.Go(func() error {
		defer stop()
		work := func(ctx context.Context) error { return run(ctx, f.settings, client, conn, m) }
		if f.lease == "" {
			m.leader.Set(1)
			return work(ctx)
		}
		return lead(ctx, client, f.lease, usualLease, m, work)
	})
	return group.Wait()
}

// dial makes the connection, which is opened at the first call.
func dial(address, caCert, tokenFile string) (*grpc.ClientConn, error) {
	transport, err := insecure.NewCredentials(), error(nil)
	if caCert != "" {
		if transport, err = credentials.NewClientTLSFromFile(caCert, ""); err != nil {
			return nil, fmt.Errorf("--ca-cert: %w", err)
		}
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if tokenFile != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(tokenFile)))
	}
	return grpc.NewClient(address, options...)
}

// token is a file, whose content is sent as the metadata authorization. It is read at each call: tokens are replaced.
type token string

// GetRequestMetadata is part of credentials.PerRPCCredentials.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	text, err := os.ReadFile(string(t))
	return map[string]string{"authorization": "Bearer " + strings.TrimSpace(string(text))}, err
}

// RequireTransportSecurity keeps the token from being sent without TLS.
func (t token) RequireTransportSecurity() bool { return true }

// The waits between sessions: from half a second to 10 s, and from the beginning after a session of a minute.
var sessionBackoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5,
	Cap: 10 * time.Second}

const sessionStable = time.Minute

// run has one session after the other until ctx ends.
func run(ctx context.Context, settings settings, client kubernetes.Interface, conn grpc.ClientConnInterface,
	m *metrics) error {
	ctx, cancel := context.WithCancel(ctx)
	c, err := watchCluster(ctx, client, settings, m)
	if err != nil {
		cancel()
		return err
	}
	defer c.stop()
	defer cancel()
	mirror, stopMirror := startMirror(ctx, c, settings.rest)
	defer stopMirror()
	backoff := sessionBackoff
	for ctx.Err() == nil {
		started := time.Now()
		err := newSession(settings, c, conn, mirror).run(ctx)
		m.ready.Store(false)
		if ctx.Err() != nil {
			break
		}
		if time.Since(started) > sessionStable {
			backoff = sessionBackoff
		}
		pause := backoff.Step()
		slog.Error("the session has ended, another one begins", "error", err, "after", pause)
		sleep(ctx, pause)
	}
	return nil
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
