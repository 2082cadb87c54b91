package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
)

// OpenOperators returns a store of what operators have switched (HAS-6); without the key it is nothing. It has the
// errors of Open.
func OpenOperators(ctx context.Context, kv KV, opt Options) (*operators.Store, error) {
	name := "the key " + opt.key(operatorsKey) + " in etcd"
	c, _, err := openChain(ctx, kv, opt, operatorsKey)
	if err != nil {
		return nil, fmt.Errorf("%s, with what operators have switched, cannot be read: %w", name, err)
	}
	var text []byte
	if c.value != nil {
		if text, err = decode(operatorsKey, c.value); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is damaged: %w", name, err), c.Close())
		}
	}
	s, err := operators.NewStore(name, text, c.writeOperators, c.Close)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// writeOperators replaces the text. The key has all of it, so it does not matter which of the earlier writes has taken
// effect.
func (c *chain) writeOperators(text []byte) error {
	value := encode(operatorsKey, text)
	if err := c.write(func([]byte) (change, error) { return change{head: value}, nil }); err != nil {
		return fmt.Errorf("the key %s in etcd: %w", c.key, err)
	}
	return nil
}
