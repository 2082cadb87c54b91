package logging

import (
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Levels are the least levels of the lines of named loggers. Names are dotted, as those of zap; a logger without a
// level of its own has that of the nearest logger above it. It is safe for concurrent use.
type Levels struct {
	root  string // name of the logger that all names are below, with a dot, or empty
	least zap.AtomicLevel
	set   atomic.Pointer[levelSet]
}

// levelSet holds the levels of one call of Set. It is not changed.
type levelSet struct {
	base   zapcore.Level
	byName map[string]zapcore.Level
	known  sync.Map // name of a logger, as a line has it, to its level
}

// NewLevels returns a logger like log whose lines, and those of loggers that are made of it by Named, have Levels.
// least is the least level of log, which Levels sets to the least of its own; at first all loggers have it.
func NewLevels(log *zap.Logger, least zap.AtomicLevel) (*zap.Logger, *Levels) {
	l := &Levels{least: least}
	if name := log.Name(); name != "" {
		l.root = name + "."
	}
	l.set.Store(&levelSet{base: least.Level()})
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return leveledCore{c, l} })), l
}

// Set sets the level of loggers without another one, and of those that byName names.
func (l *Levels) Set(base zapcore.Level, byName map[string]zapcore.Level) {
	least := base
	for _, level := range byName {
		least = min(least, level)
	}
	l.set.Store(&levelSet{base: base, byName: byName})
	l.least.SetLevel(least)
}

// Base returns the level of loggers without another one.
func (l *Levels) Base() zapcore.Level {
	if s := l.set.Load(); len(s.byName) > 0 {
		return s.base
	}
	return l.least.Level()
}

// of returns the level of a logger with the full name of a line. Without names all have the one of the log, which its
// owner may have changed since.
func (l *Levels) of(name string) zapcore.Level {
	s := l.set.Load()
	if len(s.byName) == 0 {
		return zapcore.DebugLevel
	}
	if level, ok := s.known.Load(name); ok {
		return level.(zapcore.Level)
	}
	level := s.base
	for above := strings.TrimPrefix(name, l.root); above != ""; {
		if own, ok := s.byName[above]; ok {
			level = own
			break
		}
		above = above[:max(strings.LastIndexByte(above, '.'), 0)]
	}
	s.known.Store(name, level) // loggers are few
	return level
}

// leveledCore leaves out the lines below the level of their logger.
type leveledCore struct {
	zapcore.Core
	levels *Levels
}

// CounterOf returns the LineCounter of a logger, also of one with Levels; false: its lines are not counted.
func CounterOf(log *zap.Logger) (LineCounter, bool) {
	core := log.Core()
	if c, ok := core.(leveledCore); ok {
		core = c.Core
	}
	counter, ok := core.(LineCounter)
	return counter, ok
}

// With implements zapcore.Core.
func (c leveledCore) With(fields []zapcore.Field) zapcore.Core {
	return leveledCore{c.Core.With(fields), c.levels}
}

// Check implements zapcore.Core.
func (c leveledCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Level < c.levels.of(e.LoggerName) {
		return to
	}
	return c.Core.Check(e, to)
}
