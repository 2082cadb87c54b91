package reload

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Disk is a Store in a file of a directory. A write that was interrupted leaves what was
// there before. Only one process at a time can have it open.
type Disk struct {
	file   string
	info   os.FileInfo // of the file that is open
	db     *bolt.DB
	stored StoredState
}

// diskName is the file in the data directory.
const diskName = "config.db"

// diskFormat tells our files from those of others, and later formats from this one.
const diskFormat = "canopy configuration history 1"

var (
	metaBucket        = []byte("meta")
	generationsBucket = []byte("generations")
	checksumBucket    = []byte("said")
	formatKey         = []byte("format")
)

// record is a Generation in the file. Names stay.
type record struct {
	Number   uint64            `json:"number"`
	At       time.Time         `json:"at"`
	Source   Source            `json:"source"`
	From     string            `json:"from"`
	Checksum string            `json:"checksum"`
	Text     string            `json:"text"`
	Extra    map[string]string `json:"extra,omitempty"`
	Changes  *configs.Change   `json:"changes,omitempty"`
	Paused   time.Duration     `json:"paused"`
}

// OpenDisk opens the history in a directory, which is made if need be. A file that is
// damaged, that somebody else made, or that another process has open is an error that names
// it; it is left as it is.
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

// open reads everything once. It writes only to a file that is new: one that turns out to be
// damaged must stay as it is for whoever can save something.
func (d *Disk) open() (err error) {
	defer recoverFaults(&err)()
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
		if fresh = isEmpty(tx); fresh {
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

// update writes, and makes sure that the next start will find what was written: a file that was
// removed, or whose directory was, takes writes without an error for as long as it is open.
func (d *Disk) update(write func(*bolt.Tx) error) error {
	if err := d.db.Update(write); err != nil {
		return err
	}
	switch now, err := os.Stat(d.file); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the history of configurations %s was removed while it was in use: what is written is lost at the end of the process", d.file)
	case err != nil:
		return fmt.Errorf("the history of configurations cannot be found any more: %w", err)
	case !os.SameFile(now, d.info):
		return fmt.Errorf("the history of configurations %s was replaced by another file while it was in use: what is written is lost at the end of the process", d.file)
	}
	return nil
}

// recoverFaults makes errors of what goes wrong in a damaged file, which may lead anywhere. Its
// result is to be deferred.
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

// checkFormat refuses a file that is somebody else's.
func checkFormat(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		first, _ := tx.Cursor().First()
		return fmt.Errorf("it is a database of something else, with %q in it", first)
	}
	if format := string(meta.Get(formatKey)); format != diskFormat {
		return fmt.Errorf("it is not of the format %q, but %q", diskFormat, format)
	}
	for _, name := range [][]byte{generationsBucket, checksumBucket} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("it is damaged: it has no %s", name)
		}
	}
	return nil
}

// initialize makes an empty file ours.
func initialize(tx *bolt.Tx) error {
	for _, name := range [][]byte{metaBucket, generationsBucket, checksumBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return tx.Bucket(metaBucket).Put(formatKey, []byte(diskFormat))
}

// load reads a file that is ours.
func (d *Disk) load(tx *bolt.Tx) error {
	err := tx.Bucket(generationsBucket).ForEach(func(key, value []byte) error {
		var r record
		text, err := verifyChecksum(key, value)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return fmt.Errorf("it is damaged: generation %x: %w", key, err)
		}
		d.stored.Generations = append(d.stored.Generations, &Generation{
			Number: r.Number, At: r.At, Source: r.Source, From: r.From, Checksum: r.Checksum, Text: r.Text,
			Extra: r.Extra, Changes: r.Changes, Paused: r.Paused,
		})
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Bucket(checksumBucket).ForEach(func(source, value []byte) error {
		checksum, err := verifyChecksum(source, value)
		if err != nil {
			return fmt.Errorf("it is damaged: what %q said: %w", source, err)
		}
		d.stored.LastChecksums[string(source)] = string(checksum)
		return nil
	})
}

// StoredState is what was remembered when the file was opened.
func (d *Disk) StoredState() StoredState { return d.stored }

// Latest is the configuration that was in force when the program ended, nil when there is
// none. It is an error when this version of the program finds it invalid.
func (d *Disk) Latest(bounds configs.Options) (*Proposal, error) {
	n := len(d.stored.Generations)
	if n == 0 {
		return nil, nil
	}
	g := d.stored.Generations[n-1]
	p, err := Read(g.Source, g.From, []byte(g.Text), bounds)
	if err != nil {
		return nil, fmt.Errorf("generation %d of the history %s: %w", g.Number, d.file, err)
	}
	return p, nil
}

// Add keeps g and forgets all that are older than oldest.
func (d *Disk) Add(g *Generation, oldest uint64) (err error) {
	defer recoverFaults(&err)()
	value, err := json.Marshal(record{
		g.Number, g.At, g.Source, g.From, g.Checksum, g.Text, g.Extra, g.Changes, g.Paused,
	})
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
		return tx.Bucket(generationsBucket).Put(keyOf(g.Number), addChecksum(keyOf(g.Number), value))
	})
}

// SaveChecksum keeps the checksum of what a speaker said last.
func (d *Disk) SaveChecksum(source, checksum string) (err error) {
	defer recoverFaults(&err)()
	return d.update(func(tx *bolt.Tx) error {
		return tx.Bucket(checksumBucket).Put([]byte(source), addChecksum([]byte(source), []byte(checksum)))
	})
}

// Close ends the use of the file.
func (d *Disk) Close() error { return d.db.Close() }

// queueKeyOf sorts as numbers do.
func keyOf(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// addChecksum puts a sum of key and value before a value, so that no damage goes unnoticed.
func addChecksum(key, value []byte) []byte {
	sum := sha256.Sum256(append(slices.Clone(key), value...))
	return append(sum[:], value...)
}

// verifyChecksum is the value in what seal made.
func verifyChecksum(key, sealed []byte) (value []byte, err error) {
	if len(sealed) < sha256.Size || !bytes.Equal(addChecksum(key, sealed[sha256.Size:]), sealed) {
		return nil, errors.New("it is not what was written")
	}
	return sealed[sha256.Size:], nil
}
