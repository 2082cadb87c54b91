package entrypoint

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"
)

// environment looks variables up in a map.
type environment map[string]string

func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

func TestSettingsFrom_DefaultsAreThoseOfYuniKorn(t *testing.T) {
	for _, env := range []environment{nil, {envHTTPAddress: "", envHostNames: " ", envAnonymousRead: ""}} {
		opt, err := settingsFrom(env.lookup)
		assert.NilError(t, err)
		assert.DeepEqual(t, opt.HTTP, canopy.HTTP{Address: ":9080", HostNames: []string{"*"}, AllowedOrigins: []string{"*"}})
		assert.Equal(t, opt.Security, canopy.Security{})
		assert.Equal(t, opt.InProcess.RecoveryQuiet, 5*time.Second)
		assert.Assert(t, !opt.Debug && !opt.defaultRegistry)
		assert.Equal(t, opt.InProcess.PlacementsPerSecond, 400)
		assert.Equal(t, opt.Config.Text+opt.Config.File+opt.DataDir+opt.AdminAddress+opt.GRPC.Address, "")
	}
}

func TestSettingsFrom_EachVariableSetsItsOption(t *testing.T) {
	opt, err := settingsFrom(environment{
		envHTTPAddress: "127.0.0.1:0", envHostNames: "a.example.org, b.example.org",
		envAllowedOrigins: "https://page.example.org",
		envAdminAddress:   "127.0.0.1:9081", envDataDir: "data", envTLSCert: "cert.pem", envTLSKey: "key.pem",
		envTLSClientCA: "ca.pem",
		envTokens:      "tokens.yaml", envAnonymousRead: "true", envAnonymousMetrics: "1", envRecoveryQuiet: "0s",
		envDebug: "true", envPlacements: "70", envDefaultRegistry: "true",
	}.lookup)
	assert.NilError(t, err)
	assert.DeepEqual(t, opt.HTTP, canopy.HTTP{
		Address: "127.0.0.1:0", HostNames: []string{"a.example.org", "b.example.org"},
		AllowedOrigins: []string{"https://page.example.org"},
	})
	assert.Equal(t, opt.Security, canopy.Security{
		CertFile: "cert.pem", KeyFile: "key.pem", ClientCAFile: "ca.pem", TokensFile: "tokens.yaml", AnonymousRead: true,
		AnonymousMetrics: true,
	})
	assert.Equal(t, opt.DataDir+" "+opt.AdminAddress, "data 127.0.0.1:9081")
	assert.Equal(t, opt.InProcess.RecoveryQuiet, time.Duration(0))
	assert.Assert(t, opt.Debug && opt.defaultRegistry)
	assert.Equal(t, opt.InProcess.PlacementsPerSecond, 70)

	_, err = settingsFrom(environment{envPlacements: "many"}.lookup)
	assert.Error(t, err, `CANOPY_PLACEMENTS_PER_SECOND: "many" is no number`)

	opt, err = settingsFrom(environment{envHTTPAddress: "none", envHostNames: "none", envAllowedOrigins: "none"}.lookup)
	assert.NilError(t, err)
	assert.DeepEqual(t, opt.HTTP, canopy.HTTP{})
}

// A value that cannot be used is an error that names the variable, and nothing runs.
func TestStart_ErrorsNameTheVariable(t *testing.T) {
	for name, env := range map[string]environment{
		envHTTPAddress:      {envHTTPAddress: "9080"},
		envHostNames:        {envHostNames: "a b"},
		envAllowedOrigins:   {envAllowedOrigins: "page.example.org"},
		envAdminAddress:     {envAdminAddress: "0.0.0.0:1"},
		envDataDir:          {envDataDir: filepath.Join(file(t), "below")},
		envTLSCert:          {envTLSCert: "cert.pem"},
		envTLSKey:           {envTLSKey: "key.pem"},
		envTLSClientCA:      {envTLSClientCA: "ca.pem"},
		envTokens:           {envTokens: "missing"},
		envAnonymousRead:    {envAnonymousRead: "perhaps"},
		envAnonymousMetrics: {envAnonymousMetrics: "yes"},
		envRecoveryQuiet:    {envRecoveryQuiet: "2"},
		envDebug:            {envDebug: "on"},
		envPlacements:       {envPlacements: "-1"},
		envDefaultRegistry:  {envDefaultRegistry: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := env[envHTTPAddress]; !ok {
				env[envHTTPAddress] = "none"
			}
			_, err := start(t.Context(), env.lookup, zap.NewNop())
			assert.ErrorContains(t, err, name+": ")
		})
	}
}
