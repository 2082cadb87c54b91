package measure

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxDuration is the largest duration of a Histogram. Larger ones count as it.
const maxDuration = 2 * time.Minute

// Histogram collects durations with three digits. Copies share what is collected.
type Histogram struct{ h *hdrhistogram.Histogram }

// NewHistogram returns an empty Histogram.
func NewHistogram() Histogram { return Histogram{hdrhistogram.New(1, maxDuration.Nanoseconds(), 3)} }

// Add adds a duration.
func (t Histogram) Add(d time.Duration) {
	// The error is only possible for values out of range.
	_ = t.h.RecordValue(min(max(d.Nanoseconds(), 1), maxDuration.Nanoseconds()))
}

// Merge adds all durations of another Histogram.
func (t Histogram) Merge(u Histogram) { t.h.Merge(u.h) }

// Count returns the number of durations.
func (t Histogram) Count() int64 { return t.h.TotalCount() }

// Percentile returns the duration that percent of 100 do not exceed.
func (t Histogram) Percentile(percent float64) time.Duration {
	return time.Duration(t.h.ValueAtQuantile(percent))
}

// Max returns the largest duration.
func (t Histogram) Max() time.Duration { return time.Duration(t.h.Max()) }

// Encode returns the Histogram as text.
func (t Histogram) Encode() (string, error) {
	b, err := t.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encoding a histogram: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// DecodeHistogram reads what Encode has written.
func DecodeHistogram(text string) (t Histogram, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		t.h, err = hdrhistogram.Decode(b)
	}
	if err != nil {
		return t, fmt.Errorf("decoding a histogram: %w", err)
	}
	return t, nil
}
