package canopy_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// fieldsOf are the fields that the errors of Start name.
func fieldsOf(t *testing.T, err error) (fields []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = errors.Join(err).(interface{ Unwrap() []error })
	}
	for _, e := range joined.Unwrap() {
		option := new(canopy.OptionError)
		assert.Assert(t, errors.As(e, &option), "%v", e)
		assert.Assert(t, option.Invalid, "%v", e)
		assert.Assert(t, strings.HasPrefix(e.Error(), option.Option+": "), "%v", e)
		fields = append(fields, option.Option)
	}
	return fields
}

func TestStart_InvalidOptionsAreNamed(t *testing.T) {
	_, err := canopy.Start(t.Context(), canopy.Options{
		Config: canopy.Config{Text: queues("a"), File: "queues.yaml", History: -1,
			Limits: canopy.ConfigLimits{MaxBytes: 2 << 30, MaxValues: -1, MaxQueues: -1, MaxDepth: -1}},
		GRPC: canopy.GRPC{
			MaxConnections: -1, MaxSilentStreams: -1, FirstMessageTimeout: -1, MaxMessageBytes: 2 << 30, MaxMessageElements: -1,
			DecodeBytes: -1, MaxUndeliveredBytes: -1, UndeliveredTimeout: -1, ManagerTimeout: -1,
		},
		HTTP:         canopy.HTTP{MaxConnections: -1, MaxLargeAnswers: -1, StallTimeout: time.Millisecond},
		Users:        canopy.Users{LookupTimeout: -1},
		CloseTimeout: -1,
	})
	assert.DeepEqual(t, fieldsOf(t, err), []string{
		"Config.File", "Config.Limits.MaxValues", "Config.Limits.MaxQueues", "Config.Limits.MaxDepth", "Config.History",
		"GRPC.MaxConnections", "GRPC.MaxSilentStreams", "GRPC.FirstMessageTimeout", "GRPC.MaxMessageElements",
		"GRPC.DecodeBytes", "GRPC.MaxUndeliveredBytes", "GRPC.UndeliveredTimeout", "GRPC.ManagerTimeout",
		"HTTP.MaxConnections", "HTTP.MaxLargeAnswers", "Users.LookupTimeout", "CloseTimeout",
		"Config.Limits.MaxBytes", "GRPC.MaxMessageBytes", "HTTP.StallTimeout",
	})
	_, _ = start(t, canopy.Options{ // negative means none
		AuditInterval: -1, Usage: canopy.Usage{Interval: -1},
		Applications: canopy.Applications{CompletingTimeout: -1, NewTimeout: -1, MaxEnded: -1},
	})
	for field, opt := range map[string]canopy.Options{
		"Config.File":  {Config: canopy.Config{File: filepath.Join(t.TempDir(), "missing.yaml")}},
		"GRPC.Address": {GRPC: canopy.GRPC{Address: "9081"}},
		"HTTP.Address": {HTTP: canopy.HTTP{Address: "localhost"}},
		"AdminAddress": {AdminAddress: "0.0.0.0:0"},
	} {
		_, err := canopy.Start(t.Context(), opt)
		assert.DeepEqual(t, fieldsOf(t, err), []string{field})
	}
}

// What the machine refuses is no invalid option, and nothing stays open.
func TestStart_RefusedByTheMachine(t *testing.T) {
	taken, err := net.Listen("tcp", free)
	assert.NilError(t, err)
	defer taken.Close()
	data := t.TempDir()
	admin := filepath.Join(t.TempDir(), "admin")
	opt := canopy.Options{
		DataDir: data, AdminAddress: "unix:" + admin, GRPC: canopy.GRPC{Address: free},
		HTTP:       canopy.HTTP{Address: taken.Addr().String()},
		OptionName: func(field string) string { return "--" + strings.ToLower(field) },
	}
	_, err = canopy.Start(t.Context(), opt)
	option := new(canopy.OptionError)
	assert.Assert(t, errors.As(err, &option), "%v", err)
	assert.Assert(t, option.Option == "HTTP.Address" && !option.Invalid)
	assert.ErrorContains(t, err, "--http.address: listen tcp "+taken.Addr().String())
	_, gone := os.Lstat(admin)
	assert.Assert(t, os.IsNotExist(gone))

	opt.HTTP.Address = free
	first, _ := start(t, opt)
	_, err = canopy.Start(t.Context(), canopy.Options{DataDir: data})
	assert.Assert(t, errors.As(err, &option) && option.Option == "DataDir" && !option.Invalid, "%v", err)
	assert.ErrorContains(t, err, "another process has it open")
	assert.NilError(t, first.Close())
	start(t, opt)
}

func TestStart_InvalidConfigHasAllProblems(t *testing.T) {
	text := "partitions:\n  - queues:\n      - name: root\n        submitACL: x\n        queues:\n          - {name: " +
		"a.b}\n"
	file := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
	for _, opt := range []canopy.Options{{Config: canopy.Config{Text: text}}, {Config: canopy.Config{File: file}},
		{Config: canopy.Config{Name: "standard input"}}} {
		_, err := canopy.Start(t.Context(), opt)
		bad := new(canopy.ConfigError)
		assert.Assert(t, errors.As(err, &bad), "%v", err)
		if opt.Config.Name != "" {
			assert.ErrorContains(t, err, "standard input:1:1: error")
			assert.ErrorContains(t, err, "the document is empty")
			continue
		}
		assert.Assert(t, len(bad.Problems) >= 2, "%v", err)
		assert.Equal(t, bad.Name, opt.Config.File)
		p := bad.Problems[0]
		assert.Equal(t, p.Line, 4)
		assert.Assert(t, p.Column > 0 && p.Rule != "" && p.Message != "" && !p.Warning)
		for _, p := range bad.Problems {
			assert.ErrorContains(t, err, p.String())
		}
	}
	_, err := canopy.Start(t.Context(),
		canopy.Options{Config: canopy.Config{Text: queues("a", "b"), Limits: canopy.ConfigLimits{MaxQueues: 2}}})
	assert.ErrorContains(t, err, "max-queues (2)")
}

func TestConfigFile_IsWatched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	write := func(text string) { assert.NilError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(queues("a"))
	s, logs := start(t, canopy.Options{Config: canopy.Config{File: file}})
	write(queues("a", "b"))
	until(t, func() bool { return s.Generation().Number == 2 })
	g := s.Generation()
	assert.Equal(t, g.Source, "file")
	assert.Equal(t, g.From, file)
	write("partitions: 7")
	until(t, func() bool { return logs.FilterMessageSnippet("configuration refused").Len() == 1 })
	assert.Equal(t, s.Generation(), g)

	assert.NilError(t, os.WriteFile(file+"2", []byte(queues("a")), 0o600))
	still, _ := start(t, canopy.Options{Config: canopy.Config{File: file + "2", NotWatched: true}})
	assert.NilError(t, os.WriteFile(file+"2", []byte(queues("c")), 0o600))
	g, err := still.ReloadFile(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, g.Number, uint64(2))
	assert.Equal(t, g.Source, "sighup")
	assert.NilError(t, os.Remove(file+"2"))
	_, err = still.ReloadFile(t.Context())
	assert.ErrorIs(t, err, os.ErrNotExist)
	none, _ := start(t, canopy.Options{})
	_, err = none.ReloadFile(t.Context())
	assert.ErrorIs(t, err, canopy.ErrNoConfigFile)
}

func TestReload_AllOrNothing(t *testing.T) {
	s, logs := start(t, canopy.Options{Config: canopy.Config{Text: queues("a")}})
	g, err := s.Reload(testContext(t), queues("a", "b"))
	assert.NilError(t, err)
	assert.Equal(t, g.Number, uint64(2))
	assert.Equal(t, g.Source, "program")
	assert.Equal(t, g.Text, queues("a", "b"))
	assert.Equal(t, s.Generation(), g)
	again, err := s.Reload(testContext(t), queues("a", "b"))
	assert.NilError(t, err)
	assert.Equal(t, again.Number, uint64(2), "the text is in force already")

	now, err := s.Reload(testContext(t), "partitions: [{queues: [{name: root, submitACL: x, queues: [{name: a.b}]}]}]")
	bad := new(canopy.ConfigError)
	assert.Assert(t, errors.As(err, &bad) && len(bad.Problems) >= 2, "%v", err)
	assert.Equal(t, now, g)
	assert.Equal(t, logs.FilterMessageSnippet("configuration refused").Len(), 1)

	r := newRM("rm")
	r.register(t, s.Scheduler(), "", "root.a")
	_, err = s.Reload(testContext(t),
		"partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, queues: [{name: x}]}]}]}]")
	assert.ErrorIs(t, err, canopy.ErrRefused)
	assert.Equal(t, s.Generation(), g)

	// A reload waits for a partition, and the wait ends with ctx.
	stuck, called := newGate(), newGate()
	defer stuck.open()
	r.Predicate = func(string, string) error { called.open(); <-stuck.c; return nil }
	r.ask(t, s.Scheduler(), "k")
	<-called.c
	short, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Reload(short, queues("a", "c"))
	assert.ErrorIs(t, err, canopy.ErrBusy)
	assert.Equal(t, s.Generation(), g)
}

func TestDataDir_SurvivesRestart(t *testing.T) {
	opt := canopy.Options{DataDir: filepath.Join(t.TempDir(), "data")}
	first, _ := start(t, opt)
	_, err := first.Reload(testContext(t), queues("kept"))
	assert.NilError(t, err)
	want := first.Generation()
	assert.NilError(t, first.Close())
	second, _ := start(t, opt)
	got := second.Generation()
	assert.Assert(t, got.At.Equal(want.At))
	got.At, want.At = time.Time{}, time.Time{}
	assert.Equal(t, got, want)
}

func TestWarnings_AreThoseOfTheConfigurationInForce(t *testing.T) {
	s, _ := start(t,
		canopy.Options{Config: canopy.Config{Text: "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, " +
			"resources: {max: {vcore: 1m}}}]}]}]"}})
	warnings := s.Warnings()
	assert.Assert(t, len(warnings) == 1 && warnings[0].Warning, "%v", warnings)
	_, err := s.Reload(testContext(t), queues("a"))
	assert.NilError(t, err)
	assert.Equal(t, len(s.Warnings()), 0)
}

func TestNow_IsTheClockOfTheScheduler(t *testing.T) {
	noon := time.Date(2031, 2, 3, 12, 0, 0, 0, time.UTC)
	s, _ := start(t, canopy.Options{Now: func() time.Time { return noon }})
	assert.Assert(t, s.Generation().At.Equal(noon))
	newRM("rm").register(t, s.Scheduler(), queues("a"), "root.a")
	state, _ := s.ResourceManager()
	assert.Assert(t, state.Registered.Equal(noon))
}
