package canopy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// The loggers of a Server besides those of package effectlog. Names are those of YuniKorn where it has such a logger
// (CFG-100).
const (
	configLogger   = "config"
	managersLogger = "rmproxy"
	metricsLogger  = "metrics"
	restLogger     = "rest"
	securityLogger = "security"
	usageLogger    = "usage"
)

// openLevels gives Log the levels of its loggers, before the process starts its first Server: all Servers of a process
// share them, and the level that it began with.
func (o *Options) openLevels() {
	if o.LogLevel != nil {
		o.startLevel = o.LogLevel.Level()
		o.Log, o.levels = logging.NewLevels(cmp.Or(o.Log, zap.NewNop()), *o.LogLevel)
	}
}

// logLevel is the level of loggers without another one.
func (s *Server) logLevel() string {
	if s.opt.levels != nil {
		return s.opt.levels.Base().String()
	}
	return zapcore.LevelOf(s.log.Core()).String()
}

// onInForce returns a function that applies the extra configuration of each generation: the settings of
// the event history, and the log level.
func (s *Server) onInForce() func(*reload.Generation) {
	check := extraCheck{log: s.log.Named(configLogger), startLevel: s.opt.startLevel}
	if s.opt.levels == nil {
		check.startLevel = s.log.Level()
	}
	return func(g *reload.Generation) {
		s.history.Configure(history.ParseSettings(g.Extra))
		if s.opt.levels != nil {
			s.opt.levels.Set(extraLevel(g.Extra, check.startLevel), loggerLevels(g.Extra))
		}
		check.check(g.Extra)
	}
}

// levelKeys are the keys of the extra configuration that set the log level (CFG-100): the first that is set counts. The
// second one is that of a linked shim too. The event.* keys are read in internal/server/history (CFG-101); other keys
// have no effect.
var levelKeys = []string{"log.core.level", "log.level"}

// extraLevel is the level that an extra configuration sets; otherwise when the keys are missing, empty or
// malformed (CFG-100).
func extraLevel(extra map[string]string, otherwise zapcore.Level) zapcore.Level {
	for _, key := range levelKeys {
		if level, ok := parseLevel(strings.TrimSpace(extra[key])); ok {
			return level
		}
	}
	return otherwise
}

// loggerKey is the key of the level of a logger: "log.core.", its name, ".level".
func loggerKey(key string) (name string, ok bool) {
	name, below := strings.CutPrefix(key, "log.core.")
	name, level := strings.CutSuffix(name, ".level")
	return name, below && level && name != ""
}

// loggerLevels are the levels that an extra configuration sets for single loggers, by name (CFG-100). A malformed one
// counts as none.
func loggerLevels(extra map[string]string) map[string]zapcore.Level {
	out := map[string]zapcore.Level{}
	for key, text := range extra {
		name, ok := loggerKey(key)
		level, valid := parseLevel(strings.TrimSpace(text))
		if ok && valid {
			out[name] = level
		}
	}
	return out
}

// parseLevel reads a level: a name in any case, or a number from -1 (debug) to 5 (fatal); numbers out of
// the range are clamped.
func parseLevel(text string) (level zapcore.Level, ok bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return zapcore.Level(min(max(n, int(zapcore.DebugLevel)), int(zapcore.FatalLevel))), true
	}
	level, err := zapcore.ParseLevel(text)
	return level, err == nil && text != ""
}

// extraCheck logs the invalid values of extra configurations.
type extraCheck struct {
	log        *zap.Logger
	startLevel zapcore.Level // that without an extra configuration
	last       map[string]string
}

// check logs each invalid value of an extra configuration, with what is used instead, unless the extra
// configuration is the last one (CFG-130).
func (c *extraCheck) check(extra map[string]string) {
	if maps.Equal(extra, c.last) {
		return
	}
	c.last = extra
	_, invalid := history.ReadSettings(extra)
	for _, key := range levelKeys {
		text := strings.TrimSpace(extra[key])
		if _, ok := parseLevel(text); !ok && text != "" {
			invalid = append(invalid,
				history.InvalidSetting{Key: key, Value: extra[key], Used: extraLevel(extra, c.startLevel).String()})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		text := strings.TrimSpace(extra[key])
		_, valid := parseLevel(text)
		if name, ok := loggerKey(key); ok && text != "" && !valid {
			invalid = append(invalid,
				history.InvalidSetting{Key: key, Value: extra[key], Used: "that of the logger above " + name})
		}
	}
	for _, x := range invalid {
		c.log.Warn("a value of the extra configuration is invalid and not used", zap.String("key", x.Key),
			zap.String("value", x.Value[:min(len(x.Value), 64)]), zap.String("used", x.Used))
	}
}
