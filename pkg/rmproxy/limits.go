package rmproxy

import (
	"cmp"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// Limits bound what clients of the gRPC API may cost. A field that is zero or negative has its
// default.
type Limits struct {
	MessageBytes    int   // of one message; default 8 MiB
	MessageElements int   // nodes, applications, allocations and releases in one message; default 100,000
	DecodeBytes     int64 // memory for all messages that are being decoded, and for a single one; default 256 MiB

	SilentStreams       int           // streams without a first message; default 16
	FirstMessageTimeout time.Duration // in which the whole first message of a stream must arrive; default 30 s

	UndeliveredBytes   int           // unread answers of one kind of stream; default 32 MiB
	UndeliveredTimeout time.Duration // how long an RM above that bound may read nothing; default 60 s

	DisconnectedTimeout time.Duration // after which another RM may replace one without streams; default 5 min
	ReplaceConnected    bool          // another RM may replace one at once, even with streams (RMI-77)
}

// The defaults of Limits.
const (
	DefaultMessageBytes        = 8 << 20 // twice that of grpc-go
	DefaultMessageElements     = 100_000
	DefaultDecodeBytes         = 256 << 20
	DefaultSilentStreams       = 16
	DefaultFirstMessageTimeout = 30 * time.Second
	DefaultUndeliveredBytes    = 32 << 20
	DefaultUndeliveredTimeout  = time.Minute
	DefaultDisconnectedTimeout = 5 * time.Minute
)

// Bounds without a setting.
const (
	// smallMessage is the length up to which a message is held without memory of a budget,
	// and decoded without being measured: many of them cost less than one large message.
	smallMessage = 64 << 10
	// tinyMessage is the length up to which a message is decoded without memory of a budget.
	tinyMessage = 4 << 10
	// maxBuildInfo is the maximum length of version, policy group and build information of an RM.
	maxBuildInfo = 64 << 10
	// maxRMFields is the maximum length of a registration apart from its configuration, including
	// the overhead of the wire form (RMI-17).
	maxRMFields = 2*reload.MaxExtraBytes + 2*maxBuildInfo
	// maxOtherCalls bounds the open calls of other services on the same gRPC server, whose messages may be as long as
	// those of an RM (RMI-43).
	maxOtherCalls = 16
)

func (l Limits) withDefaults() Limits {
	setDefault(&l.MessageBytes, DefaultMessageBytes)
	setDefault(&l.MessageElements, DefaultMessageElements)
	setDefault(&l.DecodeBytes, DefaultDecodeBytes)
	setDefault(&l.SilentStreams, DefaultSilentStreams)
	setDefault(&l.FirstMessageTimeout, DefaultFirstMessageTimeout)
	setDefault(&l.UndeliveredBytes, DefaultUndeliveredBytes)
	setDefault(&l.UndeliveredTimeout, DefaultUndeliveredTimeout)
	setDefault(&l.DisconnectedTimeout, DefaultDisconnectedTimeout)
	return l
}

func setDefault[N cmp.Ordered](n *N, fallback N) {
	if zero := *new(N); *n <= zero {
		*n = fallback
	}
}

// memoryBudgets bound the memory of messages of all clients together (RMI-39). A message that needs
// more than is free waits. There is no deadlock: a holder of decoding waits for nothing, and a
// holder of received or unidentified waits for decoding.
type memoryBudgets struct {
	received     *semaphore.Weighted // bytes of large messages on streams of the registered RM
	unidentified *semaphore.Weighted // the same for all other senders
	decoding     *semaphore.Weighted // cost of decoding, see wire.Shape

	registering *semaphore.Weighted // one at a time: a registration waits for partitions
}

func newMemoryBudgets(l Limits) memoryBudgets {
	one := int64(l.MessageBytes)
	return memoryBudgets{
		received: semaphore.NewWeighted(2 * one), unidentified: semaphore.NewWeighted(one),
		decoding: semaphore.NewWeighted(l.DecodeBytes), registering: semaphore.NewWeighted(1),
	}
}
