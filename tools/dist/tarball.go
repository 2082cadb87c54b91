package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"time"
)

// An entry is a file of an archive: its name there, where its bytes are, and its mode.
type entry struct {
	name, source string
	mode         int64
}

// writeTar writes files that belong to root and have a given time. Directories are not written: whoever unpacks makes
// them.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		err := addFile(t, e, at)
		if err != nil {
			return err
		}
	}
	return t.Close()
}

func addFile(t *tar.Writer, e entry, at time.Time) error {
	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = t.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: info.Size(), Mode: e.mode, ModTime: at, Uname: "root", Gname: "root",
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// gzipped writes a file through gzip, without the name and the time that gzip may have.
func gzipped(file string, write func(io.Writer) error) error {
	return create(file, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	})
}

// create writes a file.
func create(file string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
