package configwatch

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// dirWatcher tells when something happens in a directory on the way to a file.
type dirWatcher struct {
	file    string
	notify  *fsnotify.Watcher
	watched map[string]bool
	events  chan struct{} // holds one stir until somebody looks
	done    chan struct{}
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

// updateWatches watches the directory of the file and that of what it leads to, as they are now.
func (d *dirWatcher) updateWatches() {
	want := map[string]bool{filepath.Dir(d.file): true}
	if real, err := filepath.EvalSymlinks(d.file); err == nil {
		want[filepath.Dir(real)] = true
	}
	for dir := range d.watched {
		if !want[dir] {
			_ = d.notify.Remove(dir) // it may have gone
		}
	}
	// One that was watched may be another directory by now: watching it again costs nothing.
	for dir := range want {
		if d.notify.Add(dir) != nil {
			delete(want, dir) // it may come; until then the file is read from time to time
		}
	}
	d.watched = want
}

// run turns events, and errors such as an overflow, into stirs.
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
