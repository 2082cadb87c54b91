package configwatch

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// dirWatcher signals events in the directory of a file, and in that of the target of its symbolic links.
type dirWatcher struct {
	file    string
	notify  *fsnotify.Watcher
	watched map[string]bool // directories
	events  chan struct{}   // has a token after an event
	done    chan struct{}   // closed when run has ended
}

func newDirWatcher(file string) (*dirWatcher, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	d := &dirWatcher{
		file: file, notify: notify, watched: map[string]bool{},
		events: make(chan struct{}, 1), done: make(chan struct{}),
	}
	d.updateWatches()
	go d.run()
	return d, nil
}

// updateWatches watches the present directories of the file and of the target of its symbolic links.
func (d *dirWatcher) updateWatches() {
	want := map[string]bool{filepath.Dir(d.file): true}
	if real, err := filepath.EvalSymlinks(d.file); err == nil {
		want[filepath.Dir(real)] = true
	}
	for dir := range d.watched {
		if !want[dir] {
			_ = d.notify.Remove(dir) // fails if the directory was removed
		}
	}
	// A watched name may be another directory now, so each is added again, which is cheap.
	for dir := range want {
		if d.notify.Add(dir) != nil {
			delete(want, dir) // the directory may appear later; until then the file is polled
		}
	}
	d.watched = want
}

// run turns events of fsnotify, and errors such as an overflow, into tokens of d.events.
func (d *dirWatcher) run() {
	defer close(d.done)
	for {
		select {
		case _, ok := <-d.notify.Events:
			if !ok {
				return
			}
		case _, ok := <-d.notify.Errors:
			if !ok {
				return
			}
		}
		select {
		case d.events <- struct{}{}:
		default:
		}
	}
}

func (d *dirWatcher) close() {
	_ = d.notify.Close()
	<-d.done
}
