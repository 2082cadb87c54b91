package canopy_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// Groups come from the program, for partitions that resolve users; a failure rejects the application.
func TestUsers_Lookup(t *testing.T) {
	lookup := func(_ context.Context, user string) ([]string, error) {
		if user != "ann" {
			return nil, errors.New("no such account")
		}
		return []string{"dev"}, nil
	}
	const text = "partitions: [{usergroupresolver: {type: ldap}, queues: [{name: root, queues: [{name: a, submitacl: ' " +
		"dev'}]}]}]"
	s, _ := start(t, canopy.Options{Config: canopy.Config{Text: text}, Users: canopy.Users{Lookup: lookup}})
	r := newRM("rm")
	_, err := s.Scheduler().RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, r)
	assert.NilError(t, err)
	for user, want := range map[string]string{"ann": "accepted application ann",
		"bob": `rejected application bob: user "bob" cannot be resolved: the user lookup of the program: no such account`} {
		assert.NilError(t,
			s.Scheduler().UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
				ApplicationID: user, QueueName: "root.a", Ugi: &si.UserGroupInformation{User: user},
			}}}))
		got := r.Next(t).String()
		assert.Assert(t, strings.HasPrefix(got, want), got)
	}
	_, err = canopy.Start(t.Context(), canopy.Options{Config: canopy.Config{Text: text},
		Users: canopy.Users{LDAPSecrets: t.TempDir()}})
	option := new(canopy.OptionError)
	assert.Assert(t, errors.As(err, &option) && option.Option == "Config.Text" && !option.Invalid, "%v", err)
	assert.ErrorContains(t, err, "missing: Host, Port")
}

// The log level follows the extra configuration, and goes back to the one at the start (CFG-100).
func TestLogLevel_FollowsTheExtraConfiguration(t *testing.T) {
	level := zap.NewAtomicLevelAt(zapcore.WarnLevel)
	core, logs := observer.New(zapcore.DebugLevel) // its own level is not that of the option
	s, _ := start(t, canopy.Options{Log: zap.New(core), LogLevel: &level})
	for _, c := range []struct {
		text string
		want zapcore.Level
	}{{"debug", zapcore.DebugLevel}, {"error", zapcore.ErrorLevel}, {"", zapcore.WarnLevel}, {"loud", zapcore.WarnLevel}} {
		_, err := s.Scheduler().RegisterResourceManager(
			&si.RegisterResourceManagerRequest{RmID: "rm", ExtraConfig: map[string]string{"log.level": c.text}}, newRM("rm"))
		assert.NilError(t, err)
		assert.Equal(t, level.Level(), c.want)
	}
	assert.Equal(t, logs.FilterMessage("a value of the extra configuration is invalid and not used").Len(), 1)
}

// Each logger has its own level, if the extra configuration says so, and its name is in the line.
func TestLevels_OfLoggers(t *testing.T) {
	level := zap.NewAtomicLevelAt(zapcore.WarnLevel)
	core, logs := observer.New(level)
	s, _ := start(t,
		canopy.Options{Config: canopy.Config{Text: queues("a")}, Log: zap.New(core), LogLevel: &level,
			HTTP: canopy.HTTP{Address: free}})
	r := newRM("rm")
	register := func(extra map[string]string) {
		_, err := s.Scheduler().RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", ExtraConfig: extra}, r)
		assert.NilError(t, err)
		logs.TakeAll()
		assert.NilError(t, s.Scheduler().UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		r.Want(t, "accepted node n1")
		r.submit(t, s.Scheduler(), "x", "root.unknown.queue")
		assert.Assert(t, strings.HasPrefix(r.Next(t).String(), "rejected application x"))
	}
	of := func(message string) (loggers []string) {
		for _, e := range logs.FilterMessage(message).All() {
			loggers = append(loggers, e.LoggerName)
		}
		return loggers
	}
	register(map[string]string{"log.level": "error", "log.core.scheduler.node.level": "info"})
	assert.DeepEqual(t, of("node added"), []string{"scheduler.node"})
	assert.Equal(t, len(of("application rejected")), 0)
	register(map[string]string{"log.core.scheduler.level": "info", "log.core.scheduler.node.level": "error"})
	assert.Equal(t, len(of("node added")), 0)
	assert.DeepEqual(t, of("application rejected"), []string{"scheduler.application"})
	register(nil)
	assert.Equal(t, level.Level(), zapcore.WarnLevel)
	assert.Equal(t, len(of("node added"))+len(of("application rejected")), 0)
}

// A negative lifetime or limit is zero, and zero is the default.
func TestApplications_Lifetimes(t *testing.T) {
	for _, c := range []struct {
		keep canopy.Applications
		want int
	}{{canopy.Applications{}, 2}, {canopy.Applications{MaxEnded: 1}, 1}, {canopy.Applications{MaxEnded: -1}, 0},
		{canopy.Applications{RejectedRetention: -1}, 0}} {
		s, _ := start(t, canopy.Options{Config: canopy.Config{Text: queues("a")}, Applications: c.keep})
		r := newRM("rm")
		r.register(t, s.Scheduler(), "", "root.a")
		for _, id := range []string{"x", "y"} {
			r.submit(t, s.Scheduler(), id, "root.unknown.queue")
			got := r.Next(t).String()
			assert.Assert(t, strings.HasPrefix(got, "rejected application "+id), got)
		}
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer,
			httptest.NewRequestWithContext(t.Context(), "GET", "/ws/v1/partition/default/applications/rejected", nil))
		assert.Equal(t, strings.Count(answer.Body.String(), `"applicationID"`), c.want, "%+v: %s", c.keep, answer.Body)
	}
}

// Lines that a logger of this module drops are in the metrics; other loggers have no such count.
func TestMetrics_CountDroppedLogLines(t *testing.T) {
	scrape := func(s *canopy.Server) string {
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return answer.Body.String()
	}
	log := logging.New(new(strings.Builder),
		logging.Options{Encoder: zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), Level: zapcore.InfoLevel})
	counted, _ := start(t, canopy.Options{Log: log.Logger})
	assert.Assert(t, strings.Contains(scrape(counted), "\ncanopy_log_lines_dropped_total 0\n"))
	other, _ := start(t, canopy.Options{})
	assert.Assert(t, !strings.Contains(scrape(other), "canopy_log_lines_dropped_total"))
	assert.NilError(t, counted.Close())
	assert.NilError(t, log.Close())
}
