package recording

import (
	"errors"
	"iter"
	"time"
)

// WriteSession writes steps that were recorded elsewhere as a session, with the digests that they have. An error of the
// steps ends the session, and is recorded as the reason.
func (s *Store) WriteSession(partition string, began time.Time, begin *Begin, steps iter.Seq2[*Step, error]) error {
	w := s.writer(partition, nil)
	w.session = sessionKey{partition, began.UnixNano()}
	records, last, inStep, answers, reason := appendBegin(nil, begin), epoch, false, []byte(nil), ""
	for x, err := range steps {
		if err != nil {
			reason = err.Error()
			break
		}
		w.steps = true
		records = appendStep(records, x.At.Sub(last), x.Command, x.Budget)
		last, inStep, answers = x.At, !x.Done, x.Answers
		if x.Done {
			records = appendResult(records, x.Effects, x.Digest, x.More, x.Answers)
		}
		if len(records) >= frameBytes {
			if err := w.append(frame{data: records}); err != nil {
				return errors.Join(err, w.closeSession(), w.zstd.Close())
			}
			records = records[:0]
		}
	}
	if !inStep {
		answers = nil
	}
	err := w.append(frame{data: appendEnd(records, reason, inStep, answers)})
	return errors.Join(err, w.closeSession(), w.zstd.Close())
}
