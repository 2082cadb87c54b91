package logging_test

import (
	"io"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
)

// A logger has its own level, or that of the nearest one above it, or the common one.
func TestLevels_OfTheNearestLogger(t *testing.T) {
	for _, root := range []string{"", "canopy"} {
		least := zap.NewAtomicLevelAt(zapcore.InfoLevel)
		core, lines := observer.New(least)
		log, levels := logging.NewLevels(zap.New(core).Named(root), least)
		loggers := []*zap.Logger{log, log.Named("rest").With(zap.Int("n", 1)), log.Named("scheduler"),
			log.Named("scheduler.node"), log.Named("scheduler.queue.of"), log.Named("schedulers")}
		written := func() (all []string) {
			for _, l := range loggers {
				l.Debug("debug")
				l.Info("info")
				l.Error("error")
			}
			for _, e := range lines.TakeAll() {
				all = append(all, e.LoggerName+" "+e.Message)
			}
			return all
		}
		dot := map[string]string{"": "", "canopy": "canopy."}[root]
		both := func(name string) []string { return []string{name + " info", name + " error"} }
		assert.DeepEqual(t, written(),
			concat(both(root), both(dot+"rest"), both(dot+"scheduler"), both(dot+"scheduler.node"),
				both(dot+"scheduler.queue.of"), both(dot+"schedulers")))

		levels.Set(zapcore.ErrorLevel,
			map[string]zapcore.Level{"scheduler": zapcore.InfoLevel, "scheduler.node": zapcore.DebugLevel,
				"other": zapcore.InfoLevel})
		assert.Equal(t, levels.Base(), zapcore.ErrorLevel)
		assert.Equal(t, least.Level(), zapcore.DebugLevel)
		want := concat([]string{root + " error", dot + "rest error"}, both(dot+"scheduler"),
			[]string{dot + "scheduler.node debug"}, both(dot+"scheduler.node"), both(dot+"scheduler.queue.of"),
			[]string{dot + "schedulers error"})
		for range 2 {
			assert.DeepEqual(t, written(), want)
		}

		levels.Set(zapcore.ErrorLevel, nil)
		assert.Equal(t, least.Level(), zapcore.ErrorLevel)
		assert.Equal(t, len(written()), len(loggers))
	}
}

func concat(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// The lines of a logger with levels are counted as those without.
func TestCounterOf_LoggerWithLevels(t *testing.T) {
	log := logging.New(io.Discard,
		logging.Options{Encoder: zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), Level: zapcore.InfoLevel})
	defer log.Close()
	leveled, _ := logging.NewLevels(log.Logger, zap.NewAtomicLevel())
	_, counted := logging.CounterOf(leveled)
	assert.Assert(t, counted)
	_, counted = logging.CounterOf(zap.NewNop())
	assert.Assert(t, !counted)
}
