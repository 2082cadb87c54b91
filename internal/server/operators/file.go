package operators

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// fileName is the file in the data directory.
const fileName = "operators.json"

// File is a Store in a file.
type File struct {
	*Kept
	path string
}

// Open reads the file of a data directory, which must exist. A file that is missing is empty; one that cannot be read
// is an error that names it (OPS-4).
func Open(dir string) (*File, error) {
	f := &File{path: filepath.Join(dir, fileName)}
	text, err := os.ReadFile(f.path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, fmt.Errorf("what operators have switched cannot be read: %w", err)
	}
	if !missing && len(text) == 0 {
		return nil, fmt.Errorf("%s is damaged: it is empty", f.path)
	}
	if f.Kept, err = NewKept(f.path, text, f.write); err != nil {
		return nil, err
	}
	return f, nil
}

// write replaces the file. An interrupted write leaves the former content.
func (f *File) write(text []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(f.path), fileName+".*")
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
	if err = os.Rename(temporary.Name(), f.path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(f.path))
}

// syncDirectory makes a rename in a directory last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
