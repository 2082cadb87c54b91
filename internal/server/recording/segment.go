package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is the recording of a partition from a begin on: of its scheduler, or of a registration of a resource
// manager.
type Session struct {
	Partition string
	Began     time.Time // in UTC
	Bytes     int64
	segments  []segmentFile
	written   time.Time // last
}

// sessionKey names a session.
type sessionKey struct {
	partition string
	began     int64 // in nanoseconds since 1970
}

func (s *Session) key() sessionKey { return sessionKey{s.Partition, s.Began.UnixNano()} }

// Files returns the paths of the segments of the session, in their order.
func (s *Session) Files() (paths []string) {
	for _, x := range s.segments {
		paths = append(paths, x.path)
	}
	return paths
}

// segmentFile is a segment as its name says it.
type segmentFile struct {
	path  string
	index int // in its session, from 0
	bytes int64
}

// segmentName has the order of time.
func segmentName(session int64, index int) string {
	return fmt.Sprintf("%019d-%06d%s", session, index, extension)
}

// parseSegmentName reads the name of a file; ok is false for one that is no segment.
func parseSegmentName(name string) (session int64, index int, ok bool) {
	name, isSegment := strings.CutSuffix(name, extension)
	first, second, two := strings.Cut(name, "-")
	session, err := strconv.ParseInt(first, 10, 64)
	n, err2 := strconv.ParseUint(second, 10, 31)
	return session, int(n), isSegment && two && err == nil && err2 == nil && session >= 0
}

// Sessions lists what a directory has, by partition and time. Errors: ErrNoRecording, or that of the directory.
func Sessions(dir string) ([]Session, error) {
	all, err := listSessions(dir)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRecording)
	}
	return all, nil
}

func listSessions(dir string) (all []Session, err error) {
	directories, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range directories {
		partition, err := url.PathUnescape(d.Name())
		if err != nil || !d.IsDir() || directoryOf(partition) != d.Name() {
			continue
		}
		sessions, err := listPartition(filepath.Join(dir, d.Name()), partition)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil, err
		}
		all = append(all, sessions...)
	}
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), a.Began.Compare(b.Began))
	})
	return all, nil
}

// listPartition lists the sessions of a partition. The names of files have the order of sessions and segments.
func listPartition(dir, partition string) (all []Session, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		began, index, ok := parseSegmentName(f.Name())
		info, err := f.Info()
		if !ok || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n := len(all); n == 0 || all[n-1].Began.UnixNano() != began {
			all = append(all, Session{Partition: partition, Began: time.Unix(0, began).UTC()})
		}
		s := &all[len(all)-1]
		s.segments = append(s.segments, segmentFile{filepath.Join(dir, f.Name()), index, info.Size()})
		s.Bytes += info.Size()
		if info.ModTime().After(s.written) {
			s.written = info.ModTime()
		}
	}
	return all, nil
}
