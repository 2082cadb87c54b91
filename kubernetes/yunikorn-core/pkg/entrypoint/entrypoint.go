// Package entrypoint starts Canopy as the core of the shim, in the shim's process.
//
// The package owns the functions that the shim calls and the settings from the environment (CANOPY_*). It leaves the
// scheduler to github.com/canopy-scheduler/canopy/pkg/canopy, the only package of Canopy that this module imports. The
// configuration comes from the shim when it registers, and each time that its ConfigMap changes.
//
// Invariant: a ServiceContext that was returned runs, with REST or without.
package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/apache/yunikorn-core/pkg/locking"
	"github.com/apache/yunikorn-core/pkg/scheduler"
)

// ServiceContext is a running scheduler.
type ServiceContext struct {
	RMProxy   api.SchedulerAPI     // for the shim
	Scheduler *scheduler.Scheduler // the state, for tests in this process

	server *canopy.Server
	log    *zap.Logger
}

// StartAllServices starts the scheduler with a logger of its own: JSON lines on standard error. It ends the process
// when a setting of the environment is wrong.
func StartAllServices() *ServiceContext {
	config := zap.NewProductionConfig()
	config.Sampling = nil // an operator counts lines
	log, err := config.Build()
	if err != nil {
		log = zap.NewNop()
	}
	return StartAllServicesWithLogger(log, &config)
}

// StartAllServicesWithLogger starts the scheduler with the shim's logger. Canopy logs nothing below the level info
// until the key log.level of the ConfigMap says otherwise; the configuration of the logger, which the shim changes
// itself, is not used. It ends the process when a setting of the environment is wrong.
func StartAllServicesWithLogger(logger *zap.Logger, _ *zap.Config) *ServiceContext {
	s, err := start(context.Background(), os.LookupEnv, logger)
	if err != nil {
		logger.Fatal("the scheduler cannot start", zap.Error(err))
	}
	return s
}

// StartAllServicesWithManualScheduler is StartAllServices: Canopy decides when something changes, and cannot be
// stepped.
func StartAllServicesWithManualScheduler() *ServiceContext { return StartAllServices() }

// StopAll ends the scheduler and its listeners.
func (s *ServiceContext) StopAll() {
	if err := s.server.Close(); err != nil {
		s.log.Error("the scheduler has not ended cleanly", zap.Error(err))
	}
}

// start starts the scheduler with the settings of an environment.
func start(ctx context.Context, lookup func(name string) (string, bool), logger *zap.Logger) (*ServiceContext, error) {
	locking.IsTrackingEnabled()
	opt, err := settingsFrom(lookup)
	if err != nil {
		return nil, err
	}
	level := zap.NewAtomicLevelAt(max(zapcore.InfoLevel, zapcore.LevelOf(logger.Core())))
	opt.Log, opt.LogLevel = logger.Named("canopy").WithOptions(zap.IncreaseLevel(level)), &level

	server, err := canopy.Start(ctx, opt.Options)
	if addressInUse(err) {
		opt.Log.Error("REST, metrics and the page are not served: another process has their address", zap.Error(err))
		opt.HTTP.Address = ""
		server, err = canopy.Start(ctx, opt.Options)
	}
	if err != nil {
		return nil, err
	}
	if opt.defaultRegistry {
		if err := prometheus.Register(server.Collector()); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", envDefaultRegistry, err), server.Close())
		}
	}
	if opt.HTTP.Address != "" && opt.Security.TokensFile == "" && opt.Security.ClientCAFile == "" {
		opt.Log.Warn("REST needs no credentials: set "+envTokens+" or "+envTLSClientCA+", or an address of this host in "+
			envHTTPAddress, zap.Stringer("address", server.HTTPAddress()), zap.Strings("origins", opt.HTTP.AllowedOrigins),
			zap.Strings("hostNames", opt.HTTP.HostNames))
	}
	return &ServiceContext{
		RMProxy:   &nodeRefusals{SchedulerAPI: server.Scheduler(), refused: map[string]string{}},
		Scheduler: scheduler.NewScheduler(server.Handler()), server: server, log: opt.Log,
	}, nil
}

// addressInUse reports whether err says that the address of REST has a listener already.
func addressInUse(err error) bool {
	bad := new(canopy.OptionError)
	return errors.As(err, &bad) && bad.Option == "HTTP.Address" && errors.Is(bad, syscall.EADDRINUSE)
}
