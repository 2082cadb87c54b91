package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors of reads and writes, besides those that etcd itself has answered.
var (
	// ErrNotLeader: the leader's key is not that of the term. Nothing was written, unless etcd failed before it said so:
	// then the term may have been over in between.
	ErrNotLeader = errors.New("another leader was elected")
	// ErrNoAnswer: etcd did not answer in time. A write may have taken effect, or take effect later, but not after a later
	// write of the same store.
	ErrNoAnswer = errors.New("etcd did not answer in time, and it is not known whether the change is stored")
	// ErrClosed: the store was closed before etcd has answered.
	ErrClosed = errors.New("the store is closed")
)

// notLeader is an ErrNotLeader with what the leader's key is now; nil: it is gone.
func (o *Options) notLeader(leader *mvccpb.KeyValue) error {
	if leader == nil {
		return fmt.Errorf("%w, or none: the key %s of epoch %d is gone", ErrNotLeader, o.LeaderKey, o.Epoch)
	}
	return fmt.Errorf("%w: the key %s is of epoch %d with the value %.300q, and this term of epoch %d",
		ErrNotLeader, o.LeaderKey, leader.CreateRevision, leader.Value, o.Epoch)
}

// codeOf is the code of an error of etcd's client.
func codeOf(err error) codes.Code {
	answered := rpctypes.EtcdError{}
	switch {
	case errors.As(err, &answered):
		return answered.Code()
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return status.Code(err)
}

// isFinal reports whether it is useless to send a request again that failed with err.
func isFinal(err error) bool {
	switch codeOf(err) {
	case codes.ResourceExhausted:
		return !errors.Is(err, rpctypes.ErrTooManyRequests)
	case codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition, codes.OutOfRange, codes.NotFound,
		codes.Unimplemented, codes.Unauthenticated:
		return true
	}
	return false
}

// tellingError is the latest of two errors, unless it only says that time is up.
func tellingError(before, latest error) error {
	if before != nil && codeOf(latest) == codes.DeadlineExceeded {
		return before
	}
	return latest
}

// explain adds to an error of a request of size bytes what an operator can do about it.
func explain(err error, size int) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("etcd has reached its quota of space and takes no writes until it is compacted and defragmented, "+
			"or has a larger "+
			"--quota-backend-bytes, and its alarm is disarmed: %w", err)
	case errors.Is(err, rpctypes.ErrRequestTooLarge), codeOf(err) == codes.ResourceExhausted && size > defaultMaxRequest:
		return fmt.Errorf("the request has %d bytes compressed, and etcd takes %d bytes by default (--max-request-bytes): %w",
			size, defaultMaxRequest, err)
	}
	return err
}

// defaultMaxRequest bounds the bytes of a request to an etcd with default settings.
const defaultMaxRequest = 3 << 19
