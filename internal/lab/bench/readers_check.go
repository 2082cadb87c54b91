package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

// serverStallTimeout is the time for which a server waits for a client that does not read.
const serverStallTimeout = httpserver.DefaultStall

// errWrong is the error of a complete answer with wrong content.
var errWrong = errors.New("wrong answer")

// unpacked returns the uncompressed body of an answer.
func unpacked(response *http.Response) (io.Reader, error) {
	if response.Header.Get("Content-Encoding") != "gzip" {
		return response.Body, nil
	}
	return gzip.NewReader(response.Body)
}

// checkText checks a whole answer; with validate also its JSON grammar, which takes longer.
func (e *endpoint) checkText(text []byte, validate bool) error {
	if !e.text {
		if err := balanced(text); err != nil {
			return err
		}
		if validate && !json.Valid(text) {
			return fmt.Errorf("%w: no JSON", errWrong)
		}
	}
	for key, want := range e.want {
		mark := key
		if !e.text {
			mark = `"` + key + `":`
		}
		if n := bytes.Count(text, []byte(mark)); n < want[0] || n > want[1] {
			return fmt.Errorf("%w: %d times %q, and %d to %d are right", errWrong, n, key, want[0], want[1])
		}
	}
	return nil
}

// balanced checks the brackets of a JSON text: a truncated or mixed text does not end where its first
// bracket is closed.
func balanced(text []byte) error {
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			open = append(open, c+2) // the closing bracket is two code points later
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return fmt.Errorf("%w: %q at byte %d closes nothing", errWrong, c, i)
			}
			open = open[:len(open)-1]
			if len(open) == 0 && i != len(text)-1 {
				return fmt.Errorf("%w: %d bytes behind its end", errWrong, len(text)-1-i)
			}
		}
	}
	if len(open) > 0 || len(text) == 0 {
		return fmt.Errorf("%w: it ends in the middle, after %d bytes", errWrong, len(text))
	}
	return nil
}

// logError writes to standard error.
func logError(format string, about ...any) { fmt.Fprintf(os.Stderr, format+"\n", about...) }
