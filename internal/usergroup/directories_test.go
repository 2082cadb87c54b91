package usergroup

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestDirectoriesOfPartitions(t *testing.T) {
	dir := writeSettings(t, "127.0.0.1", "1", nil)
	x := NewDirectories(dir, Options{})
	t.Cleanup(x.Close)
	none, err := x.For("", nil)
	assert.NilError(t, err)
	assert.Assert(t, none == nil)
	_, err = x.For("active-directory", nil)
	assert.Error(t, err, `unknown user group resolver "active-directory"`)

	p, err := x.For("ldap", nil)
	assert.NilError(t, err)
	q, err := x.For("ldap", nil)
	assert.NilError(t, err)
	assert.Assert(t, p != q, "each partition has a memory of its own")
	system, err := x.For("os", p)
	assert.NilError(t, err)
	assert.Assert(t, system != p)
	again, err := x.For("os", system)
	assert.NilError(t, err)
	assert.Assert(t, again == system)

	heard := make(chan error, 1)
	p.Find("ann", func(_ []string, err error) { heard <- err })
	assert.ErrorContains(t, <-heard, "ldap://127.0.0.1:1: ")
	again, err = x.For("ldap", p)
	assert.NilError(t, err)
	_, known, _ := again.Known("ann")
	assert.Assert(t, again == p && known, "the same settings keep what is known")

	assert.NilError(t, os.WriteFile(filepath.Join(dir, "Port"), []byte("2"), 0o600))
	again, err = x.For("ldap", p)
	assert.NilError(t, err)
	_, known, _ = again.Known("ann")
	assert.Assert(t, again != p && !known, "other settings do not")
	_, known, _ = p.Known("ann")
	assert.Assert(t, known, "what is in use stays as it is: the configuration may be refused yet")

	assert.NilError(t, os.Remove(filepath.Join(dir, "Port")))
	_, err = x.For("ldap", p)
	assert.ErrorContains(t, err, "missing: Port")
}

// What nobody uses any more is garbage, however often configurations come and go.
func TestADirectoryThatIsNotUsedIsReleased(t *testing.T) {
	x := NewDirectories(t.TempDir(), Options{})
	t.Cleanup(x.Close)
	const made = 20
	gone := make(chan int, made)
	for i := range made {
		d, err := x.For("os", nil)
		assert.NilError(t, err)
		heard := make(chan error, 1)
		d.Find("no:such/user", func(_ []string, err error) { heard <- err })
		assert.ErrorContains(t, <-heard, "there is no user")
		runtime.AddCleanup(d, func(i int) { gone <- i }, i)
	}
	x.life.running.Wait() // those who have answered, on their way out
	for n := 0; n < made; {
		runtime.GC()
		select {
		case <-gone:
			n++
		default:
			runtime.Gosched() // the package's time-out fails the test
		}
	}
}

// One that is not used on still answers who asked before, until the end of all.
func TestADirectoryThatIsNotUsedAnswersWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, a := NewDirectories(t.TempDir(), Options{}), &told{}
		x.system.find = func(user string) ([]string, error) {
			time.Sleep(time.Second)
			return []string{user + "s"}, nil
		}
		d, err := x.For("os", nil)
		assert.NilError(t, err)
		d.Find("ann", a.as("ann"))
		none, err := x.For("", d)
		assert.NilError(t, err)
		assert.Assert(t, none == nil)
		d = nil
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, a.says("ann"), "[anns]")

		late, err := x.For("os", d)
		assert.NilError(t, err)
		late.Find("bob", a.as("bob"))
		x.Close()
		late.Find("eve", a.as("eve"))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, a.count(""), 1, "nobody is told after the end")
	})
}

// A call of the operating system that hangs keeps a thread, so they are bounded for the
// process, whatever configurations come and go meanwhile.
func TestPartitionsShareTheCallsOfTheOperatingSystem(t *testing.T) {
	x := NewDirectories(t.TempDir(), Options{})
	t.Cleanup(x.Close)
	p, err := x.For("os", nil)
	assert.NilError(t, err)
	q, err := x.For("os", nil)
	assert.NilError(t, err)
	assert.Assert(t, p != q && p.source == q.source)
	assert.Equal(t, cap(p.source.(*system).calls), mostCalls)
}
