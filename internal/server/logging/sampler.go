package logging

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// DefaultBurst bounds the lines with the same level and message that are logged per second.
const DefaultBurst = 100

// sampleEvery is the period in which lines are counted.
const sampleEvery = time.Second

// maxMessages bounds the different messages in one report.
const maxMessages = 256

// sampler omits lines that repeat too often, and reports how many (OBS-71). It uses the sampler of
// zap, whose hook is called for each omitted line.
type sampler struct {
	core  zapcore.Core // the core for reports, without sampling
	stop  chan struct{}
	ended chan struct{}
	wake  chan struct{} // holds a value when lines were omitted

	mu            sync.Mutex
	omittedCounts map[messageKey]int64 // since the last report
	omittedTotal  int64                // since the start
}

// messageKey is the level and message by which lines count as repeated.
type messageKey struct {
	level   zapcore.Level
	message string
}

// newSampler returns a core that logs at most burst lines with the same level and message per
// second.
func newSampler(core zapcore.Core, burst int) (*sampler, zapcore.Core) {
	s := &sampler{
		core: core, stop: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		omittedCounts: map[messageKey]int64{},
	}
	go s.run()
	return s, zapcore.NewSamplerWithOptions(core, sampleEvery, burst, 0, zapcore.SamplerHook(s.onDecision))
}

// onDecision is the hook of the sampler of zap.
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

// run reports once a second, while lines are omitted.
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

// report logs how many lines of each message were omitted since the last report.
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

// omitted returns the number of omitted lines since the start.
func (s *sampler) omitted() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.omittedTotal
}

// close stops the goroutine and writes a last report.
func (s *sampler) close() {
	close(s.stop)
	<-s.ended
	s.report()
}
