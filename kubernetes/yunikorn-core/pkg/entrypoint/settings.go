package entrypoint

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// The environment variables. An empty value counts as none.
const (
	envHTTPAddress      = "CANOPY_HTTP_ADDRESS"
	envHostNames        = "CANOPY_HOST_NAMES"
	envAllowedOrigins   = "CANOPY_ALLOWED_ORIGINS"
	envAdminAddress     = "CANOPY_ADMIN_ADDRESS"
	envDataDir          = "CANOPY_DATA_DIR"
	envTLSCert          = "CANOPY_TLS_CERT"
	envTLSKey           = "CANOPY_TLS_KEY"
	envTLSClientCA      = "CANOPY_TLS_CLIENT_CA"
	envTokens           = "CANOPY_TOKENS"
	envAnonymousRead    = "CANOPY_ANONYMOUS_READ"
	envAnonymousMetrics = "CANOPY_ANONYMOUS_METRICS"
	envRecoveryQuiet    = "CANOPY_RECOVERY_QUIET"
	envDebug            = "CANOPY_DEBUG"
	envPlacements       = "CANOPY_PLACEMENTS_PER_SECOND"
	envDefaultRegistry  = "CANOPY_DEFAULT_REGISTRY"
)

// none is the value that switches off what has a default.
const none = "none"

// Defaults as YuniKorn has them: REST on all addresses, for all names of this host and all web pages.
const (
	defaultHTTPAddress = ":9080"
	everything         = "*"
)

// defaultRecoveryQuiet is longer than the shim takes from an application to the first report of a pod that runs: it
// looks at its applications once a second, and needs two or three looks, after it has enabled the nodes.
const defaultRecoveryQuiet = 5 * time.Second

// defaultPlacements is above what an API server on two processors binds in a second; docs/KUBERNETES.md has what it
// measured.
const defaultPlacements = 400

// variables are the fields of canopy.Options, by the names in its errors, with the variables that set them.
var variables = map[string]string{
	"HTTP.Address": envHTTPAddress, "HTTP.HostNames": envHostNames, "HTTP.AllowedOrigins": envAllowedOrigins,
	"AdminAddress": envAdminAddress, "DataDir": envDataDir,
	"Security.CertFile": envTLSCert, "Security.KeyFile": envTLSKey, "Security.ClientCAFile": envTLSClientCA,
	"InProcess.RecoveryQuiet": envRecoveryQuiet, "InProcess.PlacementsPerSecond": envPlacements,
	"Security.TokensFile":    envTokens,
	"Security.AnonymousRead": envAnonymousRead, "Security.AnonymousMetrics": envAnonymousMetrics,
}

// settings has what an environment sets.
type settings struct {
	canopy.Options
	defaultRegistry bool // the metrics are in the default Prometheus registry, too
}

// settingsFrom are the settings of an environment. An error names the variable, and so do those of canopy.Start.
func settingsFrom(lookup func(name string) (string, bool)) (settings, error) {
	var wrong []error
	text := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	isTrue := func(name string) bool {
		value := text(name)
		if value == "" {
			return false
		}
		b, err := strconv.ParseBool(value)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q is neither true nor false", name, value))
		}
		return b
	}
	duration := func(name string, otherwise time.Duration) time.Duration {
		value := text(name)
		if value == "" {
			return otherwise
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q is no duration such as 2s", name, value))
		}
		return d
	}
	number := func(name string, otherwise int) int {
		value := text(name)
		if value == "" {
			return otherwise
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q is no number", name, value))
		}
		return n
	}
	opt := settings{defaultRegistry: isTrue(envDefaultRegistry), Options: canopy.Options{
		InProcess: canopy.InProcess{
			RecoveryQuiet:       duration(envRecoveryQuiet, defaultRecoveryQuiet),
			PlacementsPerSecond: number(envPlacements, defaultPlacements),
		},
		DataDir: text(envDataDir), AdminAddress: text(envAdminAddress), Debug: isTrue(envDebug),
		HTTP: canopy.HTTP{
			Address:        cmp.Or(text(envHTTPAddress), defaultHTTPAddress),
			HostNames:      list(cmp.Or(text(envHostNames), everything)),
			AllowedOrigins: list(cmp.Or(text(envAllowedOrigins), everything)),
		},
		Security: canopy.Security{
			CertFile: text(envTLSCert), KeyFile: text(envTLSKey), ClientCAFile: text(envTLSClientCA),
			TokensFile:    text(envTokens),
			AnonymousRead: isTrue(envAnonymousRead), AnonymousMetrics: isTrue(envAnonymousMetrics),
		},
		OptionName: func(field string) string { return cmp.Or(variables[field], field) },
	}}
	if opt.HTTP.Address == none {
		opt.HTTP.Address = ""
	}
	return opt, errors.Join(wrong...)
}

// list are the elements of a list with commas between them.
func list(text string) (out []string) {
	if text == none {
		return nil
	}
	for element := range strings.SplitSeq(text, ",") {
		out = append(out, strings.TrimSpace(element))
	}
	return out
}
