package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// grpcLimits bound the resources that clients of --grpc-address may use.
type grpcLimits struct {
	connections int
	rm          rmproxy.Limits
}

// add adds the flags of the limits.
func (l *grpcLimits) add(f *pflag.FlagSet) {
	f.IntVar(&l.connections, "grpc-max-connections", 128, "open connections to --grpc-address; further ones are closed")
	f.IntVar(&l.rm.SilentStreams, "grpc-max-silent-streams", rmproxy.DefaultSilentStreams,
		"open streams without a first message; when there are more, the oldest ends")
	f.DurationVar(&l.rm.FirstMessageTimeout, "grpc-first-message", rmproxy.DefaultFirstMessageTimeout,
		"end a stream whose first message has not arrived after this time")
	f.IntVar(&l.rm.MessageBytes, "rm-max-message-bytes", rmproxy.DefaultMessageBytes,
		"end a stream on which a resource manager sends a longer message; 1 GiB at most")
	f.IntVar(&l.rm.MessageElements, "rm-max-message-elements", rmproxy.DefaultMessageElements,
		"end a stream on which a resource manager sends a message with more nodes, applications, allocations and releases")
	f.Int64Var(&l.rm.DecodeBytes, "rm-decode-bytes", rmproxy.DefaultDecodeBytes,
		"memory for decoding messages, in bytes: a message that needs more is refused; several that need more together wait")
	f.IntVar(&l.rm.UndeliveredBytes, "rm-max-undelivered-bytes", rmproxy.DefaultUndeliveredBytes,
		"stop reading from a resource manager while more bytes of answers of one kind wait for it; decisions pause at a quarter")
	f.DurationVar(&l.rm.UndeliveredTimeout, "rm-undelivered-timeout", rmproxy.DefaultUndeliveredTimeout,
		"end the stream of a resource manager that reads nothing for this time while decisions or messages wait for that")
	f.DurationVar(&l.rm.DisconnectedTimeout, "rm-timeout", rmproxy.DefaultDisconnectedTimeout,
		"another resource manager may register when the former one has had no stream for this time; one that ended all of its streams itself is replaced after 2s")
}

// maxMessageBytes is the largest --rm-max-message-bytes: two such messages may be received at the same
// time.
const maxMessageBytes = 1 << 30

// check reports invalid limits (OBS-87, RMI-37).
func (l grpcLimits) check() error {
	var wrong []error
	for _, x := range []struct {
		flag  string
		valid bool
		value any
	}{
		{"grpc-max-connections", l.connections > 0, l.connections},
		{"grpc-max-silent-streams", l.rm.SilentStreams > 0, l.rm.SilentStreams},
		{"grpc-first-message", l.rm.FirstMessageTimeout > 0, l.rm.FirstMessageTimeout},
		{"rm-max-message-bytes", l.rm.MessageBytes > 0, l.rm.MessageBytes},
		{"rm-max-message-elements", l.rm.MessageElements > 0, l.rm.MessageElements},
		{"rm-decode-bytes", l.rm.DecodeBytes > 0, l.rm.DecodeBytes},
		{"rm-max-undelivered-bytes", l.rm.UndeliveredBytes > 0, l.rm.UndeliveredBytes},
		{"rm-undelivered-timeout", l.rm.UndeliveredTimeout > 0, l.rm.UndeliveredTimeout},
		{"rm-timeout", l.rm.DisconnectedTimeout > 0, l.rm.DisconnectedTimeout},
	} {
		if !x.valid {
			wrong = append(wrong, fmt.Errorf("--%s is %v, and must be above 0", x.flag, x.value))
		}
	}
	if l.rm.MessageBytes > maxMessageBytes {
		wrong = append(wrong, fmt.Errorf("--rm-max-message-bytes is %d, and can be %d (1 GiB) at most", l.rm.MessageBytes, maxMessageBytes))
	}
	return errors.Join(wrong...)
}
