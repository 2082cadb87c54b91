package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// grpcFlags bound the resources that clients of --grpc-address may use.
type grpcFlags struct{ canopy.GRPC }

// add adds the flags of the limits.
func (l *grpcFlags) add(f *pflag.FlagSet) {
	f.IntVar(&l.MaxConnections, "grpc-max-connections", 128, "open connections to --grpc-address; further ones are closed")
	f.IntVar(&l.MaxSilentStreams, "grpc-max-silent-streams", rmproxy.DefaultSilentStreams,
		"open streams without a first message; when there are more, the oldest ends")
	f.DurationVar(&l.FirstMessageTimeout, "grpc-first-message", rmproxy.DefaultFirstMessageTimeout,
		"end a stream whose first message has not arrived after this time")
	f.IntVar(&l.MaxMessageBytes, "rm-max-message-bytes", rmproxy.DefaultMessageBytes,
		"end a stream on which a resource manager sends a longer message; 1 GiB at most")
	f.IntVar(&l.MaxMessageElements, "rm-max-message-elements", rmproxy.DefaultMessageElements,
		"end a stream on which a resource manager sends a message with more nodes, applications, allocations and releases")
	f.Int64Var(&l.DecodeBytes, "rm-decode-bytes", rmproxy.DefaultDecodeBytes,
		"memory for decoding messages, in bytes: a message that needs more is refused; several that need more together wait")
	f.IntVar(&l.MaxUndeliveredBytes, "rm-max-undelivered-bytes", rmproxy.DefaultUndeliveredBytes,
		"stop reading from a resource manager while more bytes of answers of one kind wait for it; decisions pause at a "+
			"quarter")
	f.DurationVar(&l.UndeliveredTimeout, "rm-undelivered-timeout", rmproxy.DefaultUndeliveredTimeout,
		"end the stream of a resource manager that reads nothing for this time while decisions or messages wait for that")
	f.DurationVar(&l.ManagerTimeout, "rm-timeout", rmproxy.DefaultDisconnectedTimeout,
		"another resource manager may register when the former one has had no stream for this time; one that ended all of "+
			"its streams itself is replaced after 2s")
	f.BoolVar(&l.ReplaceManager, "replace-rm", false,
		"another resource manager may register at any time, in the place of a connected one too; a replaced one has to "+
			"wait until its successor is gone")
}

// maxMessageBytes is the largest --rm-max-message-bytes.
const maxMessageBytes = 1 << 30

// check reports a limit of messages that is too large (RMI-37).
func (l grpcFlags) check() error {
	if l.MaxMessageBytes > maxMessageBytes {
		return fmt.Errorf("--rm-max-message-bytes is %d, and can be %d (1 GiB) at most", l.MaxMessageBytes, maxMessageBytes)
	}
	return nil
}
