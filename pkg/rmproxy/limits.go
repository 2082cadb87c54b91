package rmproxy

import (
	"cmp"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/canopy-scheduler/canopy/internal/reload"
)

// Limits bound what peers of the gRPC API may cost. A field that is zero or negative has its
// default.
type Limits struct {
	MessageBytes    int   // of one message; default 64 MiB
	MessageElements int   // nodes, applications, allocations and releases in one message; default 100,000
	DecodeBytes     int64 // memory for the messages that are decoded at the same time, and for one; default 256 MiB

	SilentStreams       int           // streams whose first message has not come; default 256
	FirstMessageTimeout time.Duration // how long the first message of a stream may take; default 30 s

	UndeliveredBytes   int           // answers of one kind that an RM has not read; default 32 MiB
	UndeliveredTimeout time.Duration // how long an RM at that limit may read nothing; default 60 s

	DisconnectedTimeout time.Duration // after which another RM may register in place of one without streams; default 5 min
}

// The defaults of Limits.
const (
	DefaultMessageBytes        = 64 << 20 // an RM may replay its whole state in one message
	DefaultMessageElements     = 100_000
	DefaultDecodeBytes         = 256 << 20
	DefaultSilentStreams       = 256
	DefaultFirstMessageTimeout = 30 * time.Second
	DefaultUndeliveredBytes    = 32 << 20
	DefaultUndeliveredTimeout  = time.Minute
	DefaultDisconnectedTimeout = 5 * time.Minute
)

// Bounds without a setting.
const (
	// unregisteredBytes is how long a message may be while no RM is registered.
	unregisteredBytes = 64 << 10
	// smallMessage is how long a message may be that is received without asking for room, and
	// decoded without being measured first: many of them are less than one large one.
	smallMessage = 64 << 10
	// tinyMessage is how long a message may be that is decoded without asking for room.
	tinyMessage = 4 << 10
	// maxBuildInfo is how long what an RM says about itself may be.
	maxBuildInfo = 64 << 10
	// maxRMFields bounds what a registration holds besides its configuration, with room for what
	// the wire adds.
	maxRMFields = 2*reload.MaxExtraBytes + 2*maxBuildInfo
	// arrivalBase and arrivalRate say how long a message may take to arrive once its length is
	// known: so long, and as long again as it takes at so many bytes in a second.
	arrivalBase = 30 * time.Second
	arrivalRate = 1 << 20
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

func setDefault[N cmp.Ordered](n *N, otherwise N) {
	if zero := *new(N); *n <= zero {
		*n = otherwise
	}
}

// arrivalTimeout is how long a message of n bytes may take to arrive.
func arrivalTimeout(n int) time.Duration {
	return arrivalBase + time.Duration(n)*time.Second/arrivalRate
}

// memoryBudgets are the memory for messages of all peers at the same time. A message that needs more
// than is left waits for its turn. Whatever holds room in decoding waits for nothing else, and
// whatever holds room in received or strangers waits for decoding or its own bytes, which have
// a time-out: so nothing waits for ever.
type memoryBudgets struct {
	received     *semaphore.Weighted // bytes of large messages on streams that belong to the RM
	unidentified *semaphore.Weighted // the same, of all others
	decoding     *semaphore.Weighted // cost of decoding, see wire.Shape

	registering *semaphore.Weighted // one at a time: what registers waits for partitions
}

func newMemoryBudgets(l Limits) memoryBudgets {
	one := int64(l.MessageBytes)
	return memoryBudgets{
		received: semaphore.NewWeighted(2 * one), unidentified: semaphore.NewWeighted(one),
		decoding: semaphore.NewWeighted(l.DecodeBytes), registering: semaphore.NewWeighted(1),
	}
}
