// Package kept has texts that outlive the process: in a file of the data directory, or in etcd (internal/ha/etcdstore).
//
// It owns how a file is replaced. What a text says is left to those who write it.
//
// The rule that must hold: an interrupted write leaves the former text.
package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Text is a text that outlives the process. Its functions must not be called concurrently.
type Text struct {
	Name    string // where it is, for errors
	Content []byte // empty: there was none yet
	// Write replaces the text. On an error the former one should be there.
	Write func(text []byte) error
	Close func() error // nil: there is nothing to close
}

// Read reads the content as JSON into out, which stays as it is if there was none yet.
func (t *Text) Read(out any) error {
	if len(t.Content) == 0 {
		return nil
	}
	if err := json.Unmarshal(t.Content, out); err != nil {
		return fmt.Errorf("%s is damaged: %w", t.Name, err)
	}
	return nil
}

// End ends the use of the text.
func (t *Text) End() error {
	if t.Close == nil {
		return nil
	}
	return t.Close()
}

// InFile reads the file NAME.json of a data directory, which must exist. A file that is missing is an empty text; one
// that is empty, or cannot be read, is an error that names it (OPS-4).
func InFile(dir, name string) (Text, error) {
	path := filepath.Join(dir, name+".json")
	content, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return Text{}, fmt.Errorf("the file cannot be read: %w", err)
	}
	if !missing && len(content) == 0 {
		return Text{}, fmt.Errorf("%s is damaged: it is empty", path)
	}
	return Text{Name: path, Content: content, Write: func(text []byte) error { return replaceFile(path, text) }}, nil
}

// replaceFile replaces the content of a file.
func replaceFile(path string, text []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err = os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes a rename in a directory last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
