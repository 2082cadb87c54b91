package canopy

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// maxBytes is the largest bound of a configuration and of a message: 1 GiB. Two such messages may be
// received at the same time.
const maxBytes = 1 << 30

// check returns an OptionError for each invalid option, joined. Addresses are checked when they are
// opened.
func (o *Options) check() error {
	var all []error
	wrong := func(field, format string, args ...any) {
		all = append(all, o.invalid(field, fmt.Errorf(format, args...)))
	}
	if o.ConfigFile != "" && o.hasConfigText() {
		wrong("ConfigFile", "%q excludes Config and ConfigName", o.ConfigFile)
	}
	for _, x := range []struct {
		field string
		value int64
	}{
		{"ConfigLimits.MaxBytes", int64(o.ConfigLimits.MaxBytes)},
		{"ConfigLimits.MaxValues", int64(o.ConfigLimits.MaxValues)},
		{"ConfigLimits.MaxQueues", int64(o.ConfigLimits.MaxQueues)},
		{"ConfigLimits.MaxDepth", int64(o.ConfigLimits.MaxDepth)},
		{"ConfigHistory", int64(o.ConfigHistory)},
		{"GRPC.MaxConnections", int64(o.GRPC.MaxConnections)}, {"GRPC.MaxSilentStreams", int64(o.GRPC.MaxSilentStreams)},
		{"GRPC.MaxMessageBytes", int64(o.GRPC.MaxMessageBytes)},
		{"GRPC.MaxMessageElements", int64(o.GRPC.MaxMessageElements)},
		{"GRPC.DecodeBytes", o.GRPC.DecodeBytes}, {"GRPC.MaxUndeliveredBytes", int64(o.GRPC.MaxUndeliveredBytes)},
		{"HTTP.MaxConnections", int64(o.HTTP.MaxConnections)}, {"HTTP.MaxLargeAnswers", int64(o.HTTP.MaxLargeAnswers)},
		{"HTTP.MaxLiveStreams", int64(o.HTTP.MaxLiveStreams)},
		{"Usage.MaxBytes", o.Usage.MaxBytes}, {"Recording.MaxBytes", o.Recording.MaxBytes},
		{"Recording.SegmentBytes", o.Recording.SegmentBytes}, {"PlacementsPerSecond", int64(o.PlacementsPerSecond)},
	} {
		if x.value < 0 {
			wrong(x.field, "%d is negative", x.value)
		}
	}
	for _, x := range []struct {
		field string
		value time.Duration
	}{
		{"GRPC.FirstMessageTimeout", o.GRPC.FirstMessageTimeout}, {"GRPC.UndeliveredTimeout", o.GRPC.UndeliveredTimeout},
		{"GRPC.ManagerTimeout", o.GRPC.ManagerTimeout}, {"HTTP.StallTimeout", o.HTTP.StallTimeout},
		{"Usage.MaxAge", o.Usage.MaxAge}, {"Recording.MaxAge", o.Recording.MaxAge},
		{"Users.LookupTimeout", o.Users.LookupTimeout}, {"RecoveryQuiet", o.RecoveryQuiet}, {"CloseTimeout", o.CloseTimeout},
	} {
		if x.value < 0 {
			wrong(x.field, "%v is negative", x.value)
		}
	}
	if o.ConfigLimits.MaxBytes > maxBytes {
		wrong("ConfigLimits.MaxBytes", "%d is more than 1 GiB", o.ConfigLimits.MaxBytes)
	}
	if o.GRPC.MaxMessageBytes > maxBytes {
		wrong("GRPC.MaxMessageBytes", "%d is more than 1 GiB", o.GRPC.MaxMessageBytes)
	}
	for _, origin := range o.HTTP.AllowedOrigins {
		if err := webservice.CheckOrigin(origin); err != nil {
			all = append(all, o.invalid("HTTP.AllowedOrigins", err))
		}
	}
	for _, name := range o.HTTP.HostNames {
		if err := httpserver.CheckHostName(name); err != nil {
			all = append(all, o.invalid("HTTP.HostNames", err))
		}
	}
	if t := o.Usage.Interval; t > 0 && t < time.Second {
		wrong("Usage.Interval", "%v is less than 1s", t)
	}
	if t := o.HTTP.StallTimeout; t > 0 && t < time.Second {
		wrong("HTTP.StallTimeout", "%v is less than 1s", t)
	}
	o.Security.check(wrong)
	return errors.Join(all...)
}

// hasConfigText reports whether Config was given.
func (o *Options) hasConfigText() bool { return o.Config != "" || o.ConfigName != "" }

// hasConfig reports whether the configurations of resource managers are ignored.
func (o *Options) hasConfig() bool { return o.ConfigFile != "" || o.hasConfigText() }

// configName is the name of the configuration, for log lines and the history.
func (o *Options) configName() string { return cmp.Or(o.ConfigFile, o.ConfigName) }

// configField is the field that has the configuration.
func (o *Options) configField() string {
	if o.ConfigFile != "" {
		return "ConfigFile"
	}
	return "Config"
}

func (o *Options) bounds() queuesyaml.Options {
	l, d := o.ConfigLimits, queuesyaml.DefaultOptions()
	return queuesyaml.Options{
		MaxBytes: cmp.Or(l.MaxBytes, d.MaxBytes), MaxValues: cmp.Or(l.MaxValues, d.MaxValues),
		MaxQueues: cmp.Or(l.MaxQueues, d.MaxQueues), MaxDepth: cmp.Or(l.MaxDepth, d.MaxDepth),
	}
}

func (o *Options) rmLimits() rmproxy.Limits {
	return rmproxy.Limits{
		MessageBytes: o.GRPC.MaxMessageBytes, MessageElements: o.GRPC.MaxMessageElements, DecodeBytes: o.GRPC.DecodeBytes,
		SilentStreams: o.GRPC.MaxSilentStreams, FirstMessageTimeout: o.GRPC.FirstMessageTimeout,
		UndeliveredBytes: o.GRPC.MaxUndeliveredBytes, UndeliveredTimeout: o.GRPC.UndeliveredTimeout,
		DisconnectedTimeout: o.GRPC.ManagerTimeout, ReplaceConnected: o.GRPC.ReplaceManager,
	}
}

func (o *Options) lifetimes() *lifecycle.Lifetimes {
	a, d := o.Applications, lifecycle.DefaultLifetimes()
	return &lifecycle.Lifetimes{
		Completing: orDefault(a.CompletingTimeout, d.Completing), Completed: orDefault(a.CompletedRetention, d.Completed),
		New: max(0, a.NewTimeout), Rejected: orDefault(a.RejectedRetention, d.Rejected),
		MaxEnded: orDefault(a.MaxEnded, d.MaxEnded),
	}
}

// orDefault is the value of an option whose zero means a default, and whose negative means zero.
func orDefault[N int | time.Duration](n, fallback N) N {
	if n == 0 {
		return fallback
	}
	return max(n, 0)
}

// userOptions are the directory with the settings of LDAP, and the rest.
func (o *Options) userOptions() (secrets string, opt usergroup.Options) {
	opt.Timeout = o.Users.LookupTimeout
	if o.Users.Lookup != nil {
		opt.Source = &lookupSource{o.Users.Lookup}
	}
	return cmp.Or(o.Users.LDAPSecrets, usergroup.DefaultSecretsDir), opt
}
