package kept

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Partitions is a text with a value of each partition, as JSON. Its methods must not be called concurrently.
type Partitions[V any] struct {
	Former map[string]V // of the former process. Read-only, and so safe for concurrent use

	text   Text
	format string
	now    map[string]V
	last   []byte // the text of now; nil: it is not known what is there
}

// partitionsContent is the JSON of the text.
type partitionsContent[V any] struct {
	Format     string       `json:"format"`
	Partitions map[string]V `json:"partitions"`
}

// NewPartitions reads a text of a format, which an earlier one has written. The error is of a text that is damaged, or
// of another format.
func NewPartitions[V any](t Text, format string) (*Partitions[V], error) {
	first := partitionsContent[V]{Format: format}
	if err := t.Read(&first); err != nil {
		return nil, err
	}
	if first.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", t.Name, first.Format, format)
	}
	p := &Partitions[V]{Former: first.Partitions, text: t, format: format, now: map[string]V{}}
	maps.Copy(p.now, first.Partitions)
	var err error
	p.last, err = p.encode()
	return p, err
}

func (p *Partitions[V]) encode() ([]byte, error) {
	return json.Marshal(partitionsContent[V]{p.format, p.now})
}

// Run keeps what read returns at each interval until ctx ends, and then a last time within timeout. failed is called
// with each error.
func (p *Partitions[V]) Run(ctx context.Context, interval, timeout time.Duration,
	read func(context.Context) map[string]V, isEmpty func(V) bool, failed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		reading, cancel := ctx, context.CancelFunc(func() {})
		select {
		case <-ticker.C:
		case <-ctx.Done():
			reading, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout)
		}
		if err := p.keep(read(reading), isEmpty); err != nil {
			failed(err)
		}
		cancel()
	}
}

// keep replaces the values of some partitions, and writes the text if that changes it.
func (p *Partitions[V]) keep(of map[string]V, isEmpty func(V) bool) error {
	for name, v := range of {
		p.now[name] = v
		if isEmpty(v) {
			delete(p.now, name)
		}
	}
	text, err := p.encode()
	if err != nil || bytes.Equal(text, p.last) {
		return err
	}
	p.last = nil // after an error either text may be there
	if err := p.text.Write(text); err != nil {
		return err
	}
	p.last = text
	return nil
}

// Close ends the use of the text. p may be nil.
func (p *Partitions[V]) Close() error {
	if p == nil {
		return nil
	}
	return p.text.End()
}
