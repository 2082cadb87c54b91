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

// segmentHeader is the first frame of a segment.
type segmentHeader struct {
	Canopy    string // version of Canopy that wrote it
	Partition string
	Session   int64  // when the recording began, in nanoseconds since 1970: segments of one session continue each other
	Index     int    // of the segment in its session, from 0
	FirstStep uint64 // number of the first step
}

// segmentFile is a segment as its name says it.
type segmentFile struct {
	path      string
	partition string
	session   int64
	index     int
	bytes     int64
	written   time.Time // last
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

// listSegments lists the segments of all partitions, those first that were written first.
func listSegments(dir string) ([]segmentFile, error) {
	var all []segmentFile
	directories, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range directories {
		partition, err := url.PathUnescape(d.Name())
		if err != nil || !d.IsDir() || directoryOf(partition) != d.Name() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, d.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			session, index, ok := parseSegmentName(f.Name())
			info, err := f.Info()
			if !ok || errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all,
				segmentFile{filepath.Join(dir, d.Name(), f.Name()), partition, session, index, info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b segmentFile) int {
		return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.session, b.session), cmp.Compare(a.index, b.index),
			cmp.Compare(a.partition, b.partition))
	})
	return all, nil
}
