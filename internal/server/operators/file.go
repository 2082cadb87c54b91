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

// Open reads the file of a data directory, which must exist. A file that is missing is empty; one that cannot be read
// is an error that names it (OPS-4).
func Open(dir string) (*Store, error) {
	path := filepath.Join(dir, fileName)
	text, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, fmt.Errorf("what operators have switched cannot be read: %w", err)
	}
	if !missing && len(text) == 0 {
		return nil, fmt.Errorf("%s is damaged: it is empty", path)
	}
	return NewStore(path, text, func(text []byte) error { return replaceFile(path, text) }, nil)
}

// replaceFile replaces the content of a file. An interrupted write leaves the former content.
func replaceFile(path string, text []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), fileName+".*")
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
