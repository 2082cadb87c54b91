package webservice

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stacks and profiles of the process, on the paths of net/http/pprof (RST-8). That package is not used: importing it
// serves them also from a server that an embedding program has for something else.

const (
	debugPath   = "/debug/pprof/"
	textType    = "text/plain; charset=utf-8"
	binaryType  = "application/octet-stream"
	maxSeconds  = 300 // of a CPU profile or a trace
	cpuSeconds  = 30  // of a CPU profile, if the request does not say
	execSeconds = 1   // of a trace
)

// debugOnly serves what shows the process itself; without the option it is refused.
func debugOnly(handle func(*service, http.ResponseWriter, *http.Request)) serve {
	return raw(func(s *service, w http.ResponseWriter, r *http.Request) {
		if !s.opt.Debug {
			s.fail(w, r, refusal(http.StatusNotFound, "%s is served only with %s", r.URL.Path, s.opt.DebugOption))
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		handle(s, w, r)
	})
}

// stack is the stacks of all goroutines.
func (s *service) stack(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", textType)
	_ = pprof.Lookup("goroutine").WriteTo(w, 2) // the error is that the client does not read
}

// profiles lists the profiles.
func (s *service) profiles(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", textType)
	for _, p := range pprof.Profiles() {
		fmt.Fprintf(w, "%s %d\n", p.Name(), p.Count())
	}
	fmt.Fprintln(w, "cmdline\nprofile\nsymbol\ntrace")
}

// profile answers with one profile.
func (s *service) profile(w http.ResponseWriter, r *http.Request) {
	switch name := r.PathValue("profile"); name {
	case "cmdline":
		w.Header().Set("Content-Type", textType)
		fmt.Fprint(w, strings.Join(os.Args, "\x00"))
	case "symbol":
		s.symbols(w, r)
	case "profile":
		s.timed(w, r, cpuSeconds, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
	case "trace":
		s.timed(w, r, execSeconds, func() error { return trace.Start(w) }, trace.Stop)
	default:
		s.namedProfile(w, r, name)
	}
}

// timed writes what is recorded for the seconds of the query. One recording of a kind can be made at a time.
func (s *service) timed(w http.ResponseWriter, r *http.Request, seconds int, start func() error, stop func()) {
	if text := r.URL.Query().Get("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxSeconds {
			s.fail(w, r, badRequest("seconds %q: it is a number from 1 to %d", truncated(text), maxSeconds))
			return
		}
		seconds = n
	}
	w.Header().Set("Content-Type", binaryType)
	if err := start(); err != nil {
		s.fail(w, r, refusal(http.StatusConflict, "%v", err))
		return
	}
	defer stop()
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// namedProfile writes a profile that the runtime keeps: of memory after a garbage collection with gc=1, as text with
// debug=1 or 2.
func (s *service) namedProfile(w http.ResponseWriter, r *http.Request, name string) {
	p := pprof.Lookup(name)
	if p == nil {
		known := []string{"cmdline", "profile", "symbol", "trace"}
		for _, x := range pprof.Profiles() {
			known = append(known, x.Name())
		}
		slices.Sort(known)
		s.fail(w, r,
			refusal(http.StatusNotFound, "profile %q: it is one of %s", truncated(name), strings.Join(known, ", ")))
		return
	}
	debug, err := strconv.Atoi("0" + r.URL.Query().Get("debug"))
	if err != nil || debug > 2 {
		s.fail(w, r, badRequest("debug %q: it is 0, 1 or 2", truncated(r.URL.Query().Get("debug"))))
		return
	}
	if gc := r.URL.Query().Get("gc"); gc != "" && gc != "0" {
		runtime.GC()
	}
	w.Header().Set("Content-Type", binaryType)
	if debug > 0 {
		w.Header().Set("Content-Type", textType)
	}
	_ = p.WriteTo(w, debug) // the error is that the client does not read
}

// maxSymbolBytes bounds the addresses that symbols names, in bytes.
const maxSymbolBytes = 64 << 10

// symbols names the functions of addresses, which are the query or the body: 0x1234+0x5678.
func (s *service) symbols(w http.ResponseWriter, r *http.Request) {
	text := r.URL.RawQuery
	if r.Method == http.MethodPost {
		body := http.MaxBytesReader(w, r.Body, maxSymbolBytes)
		buffer := new(strings.Builder)
		if _, err := io.Copy(buffer, body); err != nil {
			s.fail(w, r, refusal(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxSymbolBytes))
			return
		}
		text = buffer.String()
	}
	w.Header().Set("Content-Type", textType)
	fmt.Fprintln(w, "num_symbols: 1")
	for word := range strings.SplitSeq(text, "+") {
		address, err := strconv.ParseUint(strings.TrimSpace(word), 0, 64)
		if err != nil || address == 0 {
			continue
		}
		if f := runtime.FuncForPC(uintptr(address)); f != nil {
			fmt.Fprintf(w, "%#x %s\n", address, f.Name())
		}
	}
}
