package etcdstore

import (
	"context"
	"errors"
	"fmt"
)

// A Kind says what has a leader in a group. Members of both kinds below one prefix would decide for the same partitions.
type Kind string

// The kinds of groups.
const (
	OneLeader         Kind = "one-leader"        // a leader has all partitions
	LeaderOfPartition Kind = "spread-partitions" // each partition has a leader
)

// ErrOtherKind: the group below a prefix is of the other kind.
var ErrOtherKind = errors.New("the group is of another kind")

var errClaimed = errors.New("another leader has claimed the kind")

// Claim makes the group one of a kind, or returns ErrOtherKind if an earlier leader has made it one of the other (HAS-7). Its other errors are
// those of Open.
func Claim(ctx context.Context, kv KV, opt Options, kind Kind) error {
	opt, err := opt.checked()
	if err != nil {
		return fmt.Errorf("the kind of the group in etcd: %w", err)
	}
	c, _, err := openChain(ctx, kv, opt, kindKey)
	if err != nil {
		return fmt.Errorf("the key %s in etcd cannot be read: %w", opt.key(kindKey), err)
	}
	defer c.close()
	if c.value == nil {
		err = c.write(func(current []byte) (change, error) {
			if current != nil {
				return change{}, errClaimed
			}
			return change{head: Encode(kindKey, []byte(kind))}, nil
		})
		if err != nil && !errors.Is(err, errClaimed) {
			return fmt.Errorf("the key %s in etcd: %w", c.key, err)
		}
	}
	text, err := Decode(kindKey, c.value)
	switch {
	case err != nil:
		return fmt.Errorf("the key %s in etcd is damaged: %w", c.key, err)
	case Kind(text) != kind:
		return fmt.Errorf("%w: the key %s says %q, and this member is one of %q; remove the key when no member runs, or use another prefix", ErrOtherKind, c.key, text, kind)
	}
	return nil
}
