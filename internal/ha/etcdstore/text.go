package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
)

// OpenText returns a text with a key of its own, which must not begin with "config/" (HAS-6); without the key it is
// empty. It has the errors of Open.
func OpenText(ctx context.Context, kv KV, opt Options, key string) (kept.Text, error) {
	t := kept.Text{Name: "the key " + opt.key(key) + " in etcd"}
	c, _, err := openChain(ctx, kv, opt, key)
	if err != nil {
		return kept.Text{}, fmt.Errorf("%s cannot be read: %w", t.Name, err)
	}
	if c.value != nil {
		if t.Content, err = decode(key, c.value); err != nil {
			return kept.Text{}, errors.Join(fmt.Errorf("%s is damaged: %w", t.Name, err), c.Close())
		}
	}
	t.Close = c.Close
	// The key has all of the text, so it does not matter which of the earlier writes has taken effect.
	t.Write = func(text []byte) error {
		value := encode(key, text)
		if err := c.write(func([]byte) (change, error) { return change{head: value}, nil }); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		return nil
	}
	return t, nil
}
