package rmproxy

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
)

// The metadata of streams that are resumed (RMI-84).
const (
	resumeKey   = "canopy-resume"   // of a request: the position up to which the RM has received answers; empty: none
	positionKey = "canopy-position" // of the headers of the answers: the position before the first of them
)

// maxRetainedBytes bounds the effects of a kind of stream that are kept after they were sent, by memorySize. Many times
// more than what is on its way on a connection at a time.
const maxRetainedBytes = 8 << 20

// newInstance is a name for a process that no other has: positions of an earlier process are not taken for its own.
func newInstance() string { return rand.Text() }

// position says up to where answers of a kind of stream were received: how many messages of a registration.
type position struct {
	of string // the instance and the registration
	n  uint64
}

func (p position) String() string { return p.of + "/" + strconv.FormatUint(p.n, 10) }

// parsePosition reads a position; ok is false for what is none.
func parsePosition(text string) (p position, ok bool) {
	of, number, found := strings.Cut(text, "/")
	n, err := strconv.ParseUint(number, 10, 64)
	return position{of, n}, found && err == nil
}

// resumeFrom holds what an RM says about an opened stream: whether it keeps positions, and up to which it has received
// answers.
func resumeFrom(ctx context.Context) (from string, asked bool) {
	values := metadata.ValueFromIncomingContext(ctx, resumeKey)
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// sentLog are the messages of a kind of stream that were sent in a session. Writers of streams use it one after the
// other.
type sentLog struct {
	of       string
	keep     bool // an RM keeps positions: what is sent is retained
	sent     uint64
	retained [][]outboundEffect // the last of them, in order
	bytes    uint64             // of retained
}

// begin is called when a stream begins that asks for positions. It returns the position before its first message, and
// the messages that the RM has not received. If these are not retained any more, or from is no position of this
// session, the position is that of all that was sent: the RM sees that it is not its own, and has to register again.
func (l *sentLog) begin(from string) (at position, missed [][]outboundEffect) {
	l.keep = true
	p, ok := parsePosition(from)
	if ok && p.of == l.of && p.n <= l.sent && l.sent-p.n <= uint64(len(l.retained)) {
		return p, l.retained[uint64(len(l.retained))-(l.sent-p.n):]
	}
	return position{l.of, l.sent}, nil
}

// add counts a message that was sent.
func (l *sentLog) add(batch []outboundEffect) {
	l.sent++
	if !l.keep {
		return
	}
	l.retained = append(l.retained, slices.Clone(batch))
	l.bytes += totalMemorySize(batch)
	first := 0
	for ; l.bytes > maxRetainedBytes; first++ {
		l.bytes -= totalMemorySize(l.retained[first])
	}
	clear(l.retained[:first]) // so that the array, which append replaces now and then, keeps none of them in memory
	l.retained = l.retained[first:]
}
