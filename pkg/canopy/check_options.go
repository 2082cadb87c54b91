package canopy

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// check returns an OptionError for each invalid option, joined. Addresses are checked when they are opened. ha is that
// of a member; nil: the Server is alone.
func (o *Options) check(ha *HA) error {
	var all []error
	wrong := func(field, format string, args ...any) {
		all = append(all, o.invalid(field, fmt.Errorf(format, args...)))
	}
	if o.Config.File != "" && o.Config.hasText() {
		wrong("Config.File", "%q excludes Config.Text and Config.Name", o.Config.File)
	}
	if len(o.Config.Partitions) > 0 && !o.Config.exists() {
		wrong("Config.Partitions", "it needs %s, which has these partitions", o.optionName("Config.File"))
	}
	for i, name := range o.Config.Partitions {
		if slices.Contains(o.Config.Partitions[:i], name) {
			wrong("Config.Partitions", "partition %q is given twice", name)
		}
	}
	checkNegative(reflect.ValueOf(*o), "", wrong)
	if n := o.Config.Limits.MaxBytes; n > maxBytes {
		wrong("Config.Limits.MaxBytes", "%d is more than 1 GiB", n)
	}
	if o.GRPC.MaxMessageBytes > maxBytes {
		wrong("GRPC.MaxMessageBytes", "%d is more than 1 GiB", o.GRPC.MaxMessageBytes)
	}
	for _, origin := range o.HTTP.AllowedOrigins {
		if err := webservice.CheckOrigin(origin); err != nil {
			wrong("HTTP.AllowedOrigins", "%w", err)
		}
	}
	for _, name := range o.HTTP.HostNames {
		if err := httpserver.CheckHostName(name); err != nil {
			wrong("HTTP.HostNames", "%w", err)
		}
	}
	if t := o.Usage.Interval; t > 0 && t < time.Second {
		wrong("Usage.Interval", "%v is less than 1s", t)
	}
	if t := o.HTTP.StallTimeout; t > 0 && t < time.Second {
		wrong("HTTP.StallTimeout", "%v is less than 1s", t)
	}
	o.Security.check(wrong)
	if ha != nil {
		o.checkHA(ha, wrong)
	}
	return errors.Join(all...)
}

// checkNegative reports each number and duration of options that is negative, except where that means none.
func checkNegative(options reflect.Value, path string, wrong func(field, format string, args ...any)) {
	for i := range options.NumField() {
		field, value := options.Type().Field(i), options.Field(i)
		switch {
		case !field.IsExported() || field.Tag.Get("negative") != "":
		case value.Kind() == reflect.Struct:
			checkNegative(value, path+field.Name+".", wrong)
		case value.CanInt() && value.Int() < 0:
			wrong(path+field.Name, "%v is negative", value)
		}
	}
}

func (o *Options) bounds() queuesyaml.Options {
	l, d := o.Config.Limits, queuesyaml.DefaultOptions()
	return queuesyaml.Options{
		MaxBytes: cmp.Or(l.MaxBytes, d.MaxBytes), MaxValues: cmp.Or(l.MaxValues, d.MaxValues),
		MaxQueues: cmp.Or(l.MaxQueues, d.MaxQueues), MaxDepth: cmp.Or(l.MaxDepth, d.MaxDepth),
		Partitions: o.Config.Partitions,
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
