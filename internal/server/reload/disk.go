package reload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Disk is a Store in a file of a directory (CFG-118). An interrupted write leaves the former
// content. Only one process at a time can open it.
type Disk struct {
	file   string
	info   os.FileInfo // of the open file
	db     *bolt.DB
	stored StoredState
}

// diskName is the file in the data directory.
const diskName = "config.db"

// diskFormat identifies the format of the file. Names in the file must not change with it.
const diskFormat = "canopy configuration history 1"

var (
	metaBucket        = []byte("meta")
	generationsBucket = []byte("generations")
	checksumBucket    = []byte("said") // last checksum by source
	formatKey         = []byte("format")
)

// OpenDisk opens the history in a directory, and creates both if they do not exist. A file that is
// damaged, is not of diskFormat, or is open in another process is an error that names the
// file; the file is not changed (CFG-119).
func OpenDisk(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &Disk{file: filepath.Join(dir, diskName), stored: StoredState{LastChecksums: map[string]string{}}}
	if err := d.open(); err != nil {
		if d.db != nil {
			err = errors.Join(err, d.db.Close())
		}
		return nil, fmt.Errorf("the history of configurations %s cannot be used: %w", d.file, err)
	}
	return d, nil
}

// open reads the whole file once. It writes to a new file only: a damaged file stays as it is, so
// that its content can be recovered.
func (d *Disk) open() (err error) {
	defer recoverFaults(&err)()
	if info, err := os.Stat(d.file); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return errors.New("it is damaged: it is empty; remove it to begin anew")
	}
	d.db, err = bolt.Open(d.file, 0o600, &bolt.Options{Timeout: time.Second})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return errors.New("another process has it open")
	case err != nil:
		return err
	}
	fresh := false
	err = d.db.View(func(tx *bolt.Tx) error {
		if err := d.checkLength(tx); err != nil {
			return err
		}
		fresh = isEmpty(tx)
		if fresh {
			return nil
		}
		if err := checkFormat(tx); err != nil {
			return err
		}
		return d.load(tx)
	})
	if err == nil && fresh {
		err = d.db.Update(initialize)
	}
	if err == nil {
		d.info, err = os.Stat(d.file)
	}
	return err
}

// update writes to the file, and checks that the next start will find it: writes to an open file
// succeed also if the file or its directory was removed (CFG-120).
func (d *Disk) update(write func(*bolt.Tx) error) error {
	if err := d.db.Update(write); err != nil {
		return err
	}
	switch now, err := os.Stat(d.file); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the history of configurations %s was removed while it was in use: changes are lost when the "+
			"process ends", d.file)
	case err != nil:
		return fmt.Errorf("the history of configurations cannot be found: %w", err)
	case !os.SameFile(now, d.info):
		return fmt.Errorf("the history of configurations %s was replaced by another file while it was in use: changes are "+
			"lost when the process ends", d.file)
	}
	return nil
}

// recoverFaults turns panics and memory faults, which a damaged file may cause in bbolt, into errors.
// The caller must defer its result.
func recoverFaults(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = fmt.Errorf("it is damaged: %v", p)
		}
	}
}

// checkLength refuses a file that was cut short.
func (d *Disk) checkLength(tx *bolt.Tx) error {
	info, err := os.Stat(d.file)
	if err == nil && info.Size() < tx.Size() {
		err = fmt.Errorf("it is damaged: it has %d bytes and should have %d", info.Size(), tx.Size())
	}
	return err
}

func isEmpty(tx *bolt.Tx) bool {
	first, _ := tx.Cursor().First()
	return first == nil
}

// checkFormat refuses a file of another program or format.
func checkFormat(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		first, _ := tx.Cursor().First()
		return fmt.Errorf("it is a database of another program, with the bucket %q", first)
	}
	if format := string(meta.Get(formatKey)); format != diskFormat {
		return fmt.Errorf("it is not of the format %q but %q", diskFormat, format)
	}
	for _, name := range [][]byte{generationsBucket, checksumBucket} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("it is damaged: the bucket %q is missing", name)
		}
	}
	return nil
}

// initialize creates the buckets in an empty file.
func initialize(tx *bolt.Tx) error {
	for _, name := range [][]byte{metaBucket, generationsBucket, checksumBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return tx.Bucket(metaBucket).Put(formatKey, []byte(diskFormat))
}

// load reads the generations and checksums. Requires: checkFormat.
func (d *Disk) load(tx *bolt.Tx) error {
	err := tx.Bucket(generationsBucket).ForEach(func(key, value []byte) error {
		var g *Generation
		text, err := VerifyChecksum(key, value)
		if err == nil {
			g, err = DecodeGeneration(text)
		}
		if err != nil {
			return fmt.Errorf("it is damaged: generation %x: %w", key, err)
		}
		d.stored.Generations = append(d.stored.Generations, g)
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Bucket(checksumBucket).ForEach(func(source, value []byte) error {
		checksum, err := VerifyChecksum(source, value)
		if err != nil {
			return fmt.Errorf("it is damaged: the last checksum of %q: %w", source, err)
		}
		d.stored.LastChecksums[string(source)] = string(checksum)
		return nil
	})
}

// StoredState is the content of the file when it was opened.
func (d *Disk) StoredState() StoredState { return d.stored }

// Latest is the configuration that was in force when the program ended; nil: there is none.
// A configuration that this version of the program finds invalid is an error (CFG-118).
func (d *Disk) Latest(bounds queuesyaml.Options) (*Proposal, error) {
	return d.stored.Latest(d.file, bounds)
}

// Add stores g and deletes the generations before the number oldest.
func (d *Disk) Add(g *Generation, oldest uint64) (err error) {
	defer recoverFaults(&err)()
	value, err := EncodeGeneration(g)
	if err != nil {
		return err
	}
	return d.update(func(tx *bolt.Tx) error {
		c := tx.Bucket(generationsBucket).Cursor()
		for key, _ := c.First(); key != nil && string(key) < string(keyOf(oldest)); key, _ = c.First() {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return tx.Bucket(generationsBucket).Put(keyOf(g.Number), AddChecksum(keyOf(g.Number), value))
	})
}

// SaveChecksum stores the checksum of the last text of a source.
func (d *Disk) SaveChecksum(source, checksum string) (err error) {
	defer recoverFaults(&err)()
	return d.update(func(tx *bolt.Tx) error {
		return tx.Bucket(checksumBucket).Put([]byte(source), AddChecksum([]byte(source), []byte(checksum)))
	})
}

// Close closes the file.
func (d *Disk) Close() error { return d.db.Close() }

// keyOf is the key of a generation. Keys sort like numbers.
func keyOf(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
