package logging

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// DefaultBurst is how many lines with the same level and message are logged within a second.
const DefaultBurst = 100

// sampleEvery is the time within which lines are counted.
const sampleEvery = time.Second

// maxMessages bounds how many different messages are told apart in one report.
const maxMessages = 256

// sampler leaves out lines that repeat, and reports how many. zap's own sampler counts the
// lines; its hook tells of those that it leaves out.
type sampler struct {
	core  zapcore.Core // takes the reports; nothing is left out of it
	stop  chan struct{}
	ended chan struct{}
	wake  chan struct{} // holds one signal that something was left out

	mu            sync.Mutex
	omittedCounts map[messageKey]int64 // since the last report
	omittedTotal  int64                // ever
}

// messageKey is what lines have in common that repeat each other.
type messageKey struct {
	level   zapcore.Level
	message string
}

// newSampler returns a core that logs at most burst lines of the same level and message within
// a second.
func newSampler(core zapcore.Core, burst int) (*sampler, zapcore.Core) {
	s := &sampler{
		core: core, stop: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		omittedCounts: map[messageKey]int64{},
	}
	go s.run()
	return s, zapcore.NewSamplerWithOptions(core, sampleEvery, burst, 0, zapcore.SamplerHook(s.onDecision))
}

// onDecision is the hook of zap's sampler.
func (s *sampler) onDecision(e zapcore.Entry, d zapcore.SamplingDecision) {
	if d&zapcore.LogDropped == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.omittedTotal++
	key := messageKey{e.Level, e.Message}
	if _, known := s.omittedCounts[key]; !known && len(s.omittedCounts) >= maxMessages {
		key = messageKey{zapcore.InfoLevel, "other messages"}
	}
	s.omittedCounts[key]++
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run reports once in a second, as long as lines are left out.
func (s *sampler) run() {
	defer close(s.ended)
	tick := time.NewTimer(0)
	defer tick.Stop()
	<-tick.C
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		}
		tick.Reset(sampleEvery)
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.report()
		}
	}
}

// report logs how many lines of each message were left out since the last report.
func (s *sampler) report() {
	s.mu.Lock()
	counts := s.omittedCounts
	s.omittedCounts = map[messageKey]int64{}
	s.mu.Unlock()
	keys := make([]messageKey, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b messageKey) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.message, b.message))
	})
	log := zap.New(s.core)
	for _, k := range keys {
		log.Log(min(k.level, zapcore.ErrorLevel), "log lines left out: the same message was logged too often",
			zap.String("message", k.message), zap.Int64("lines", counts[k]))
	}
}

// omitted is how many lines were left out since the start.
func (s *sampler) omitted() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.omittedTotal
}

// close ends the reports with a last one.
func (s *sampler) close() {
	close(s.stop)
	<-s.ended
	s.report()
}
