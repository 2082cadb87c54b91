package etcdstore

import (
	"context"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
)

// Operators keeps what operators have switched (HAS-6). It implements operators.Store.
type Operators struct {
	*operators.Kept
	*chain
}

// OpenOperators reads what operators have switched; without the key it is nothing. It has the errors of Open.
func OpenOperators(ctx context.Context, kv KV, opt Options) (*Operators, error) {
	name := "the key " + opt.key(operatorsKey) + " in etcd"
	c, _, err := openChain(ctx, kv, opt, operatorsKey)
	if err != nil {
		return nil, fmt.Errorf("%s, with what operators have switched, cannot be read: %w", name, err)
	}
	o := &Operators{chain: c}
	if o.Kept, err = operators.NewKept(name, nil, o.write); c.value != nil {
		var text []byte
		if text, err = decode(operatorsKey, c.value); err != nil {
			err = fmt.Errorf("%s is damaged: %w", name, err)
		} else {
			o.Kept, err = operators.NewKept(name, text, o.write)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return o, nil
}

// write replaces the text. The key has all of it, so it does not matter which of the earlier writes has taken effect.
func (o *Operators) write(text []byte) error {
	value := encode(operatorsKey, text)
	if err := o.chain.write(func([]byte) (change, error) { return change{head: value}, nil }); err != nil {
		return fmt.Errorf("the key %s in etcd: %w", o.chain.key, err)
	}
	return nil
}
