package gangs

import (
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Style says what happens to an application whose gang was not complete in time.
type Style uint8

// The styles.
const (
	Soft Style = iota // its members are placed as ordinary asks
	Hard              // it fails
)

// StyleOf reads a style: `Hard` in exactly this case, anything else is Soft (GAN-1).
func StyleOf(text string) Style {
	if text == "Hard" {
		return Hard
	}
	return Soft
}

func (s Style) String() string { return [...]string{"Soft", "Hard"}[s] }

// DefaultTimeout is the placeholder timeout of a gang that declares none.
const DefaultTimeout = 15 * time.Minute

// Spec holds what the RM declares about the gang of an application. The zero value declares nothing.
type Spec struct {
	Requested resources.Amounts // what all placeholders request together; empty: not declared
	Timeout   time.Duration     // placeholder timeout; zero or less: DefaultTimeout
	Created   time.Time         // creation time of the RM's object; zero: not known
	Style     Style
	Virtual   []VirtualGroup // task groups whose placeholders are virtual; empty: the RM sends placeholders
}

// TimeoutOf converts a timeout in milliseconds. Zero, a negative number and one that is too large for a duration mean
// that no timeout is declared: 0 (GAN-2).
func TimeoutOf(milliseconds int64) time.Duration {
	if milliseconds <= 0 || milliseconds > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// Declared reports whether s declares anything.
func (s *Spec) Declared() bool {
	return !s.Requested.IsZero() || s.Timeout > 0 || s.Style != Soft || !s.Created.IsZero() || len(s.Virtual) > 0
}

// minTimeout is the shortest timeout of a gang, however old its application is.
const minTimeout = time.Millisecond

// deadline returns the end of a timeout that begins at now. The timeout counts from the creation of the application, if
// that is known and earlier (GAN-2).
func (s *Spec) deadline(now time.Time) time.Time {
	timeout, from := s.Timeout, now
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if !s.Created.IsZero() && s.Created.Before(now) {
		from = s.Created
	}
	at, earliest := from.Add(timeout), now.Add(minTimeout)
	if at.Before(earliest) {
		return earliest
	}
	return at
}
