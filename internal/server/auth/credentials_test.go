package auth

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func entry(name, role, token, more string) string {
	return fmt.Sprintf("- {name: %s, role: %s, hash: %q%s}\n", name, role, HashToken(token), more)
}

func TestParseCredentials_Entries(t *testing.T) {
	c, err := ParseCredentials([]byte("# the clients\n" + entry("prometheus", "read", "a", "") + entry("shim", "submit",
		"b", ", rmID: mycluster") +
		entry("shim", "submit", "c", ", rmID: mycluster") + "- {name: ops, role: admin, certificate: ops.example.org}\n"))
	assert.NilError(t, err)
	assert.Equal(t, strings.Join(c.Entries(), "\n"),
		"ops: admin, the certificate ops.example.org\nprometheus: read, a token\n"+
			"shim: submit, a token, rmID mycluster\nshim: submit, a token, rmID mycluster")
	assert.Equal(t, c.findToken("b").Name, "shim")
	assert.Equal(t, c.findToken("c").Name, "shim", "two hashes of one name: a token is being replaced")
	assert.Assert(t, c.findToken("d") == nil)
	assert.Equal(t, c.findCertificate([]string{"other", "ops.example.org"}).Name, "ops")
}

func TestParseCredentials_EveryProblemIsNamed(t *testing.T) {
	hash := HashToken("x")
	for text, want := range map[string]string{
		"":                                 "has no entries",
		"[]":                               "has no entries",
		"# nothing":                        "has no entries",
		"name: x":                          "line 1: the file is no list of entries",
		"- x":                              "line 1: an entry has name, role, and hash or certificate",
		"- {name: [a}":                     "did not find expected",
		"- {name: a}\n---\n- {}":           "more than one YAML document",
		"- {role: read, hash: h}":          "name is empty",
		"- {name: a, hash: h}":             `role is "": it is read, submit, admin`,
		"- {name: a, role: root, hash: h}": `role is "root"`,
		"- {name: a, role: read}":          "an entry has the hash of a token, or the name of a certificate",
		"- {name: a, role: read, hash: " + hash + ", certificate: b}": "not both",
		"- {name: a, role: read, hash: abc}":                          "it begins with sha256:",
		"- {name: a, role: read, hash: 'sha256:abc'}":                 "64 hexadecimal digits",
		"- {name: a, role: read, hash: " + NewToken() + "}":           "hash is a token",
		"- {name: a, role: read, token: x}":                           `unknown key "token"`,
		"- {name: a, name: b, role: read, hash: " + hash + "}":        `key "name" is given twice`,
		"- {name: &x a, role: read, hash: *x}":                        "hash is no plain text",
		"- {name: {a: b}, role: read, hash: h}":                       "name is no plain text",
		"- {name: a, role: read, rmID: x, hash: " + hash +
			"}": "rmID is for the role submit, not for read",
		"- {name: a, role: submit, rmID: '', hash: " + hash + "}":                    "rmID is empty",
		"- {name: a, role: submit, certificate: ' '}":                                "certificate is empty",
		"- {name: " + strings.Repeat("a", 300) + ", role: read, hash: " + hash + "}": "name has 300 bytes",
		`- {name: "a\nb", role: read, hash: h}`:                                      "cannot be printed",
		entry("a", "read", "x", "") + entry("b", "read", "x",
			""): "line 2: the hash of b is that of a former entry, of a",
		entry("a", "read", "x", "") + entry("a", "admin", "y",
			""): "line 2: a has another role or rmID",
		"- {name: a, role: read, certificate: c}\n- {name: b, role: read, certificate: c}\n": `line 2: certificate "c" is ` +
			`in a former entry`,
		strings.Repeat("- x\n", 1001):       "1001 entries, at most 1000",
		strings.Repeat("#", MaxFileBytes+1): "more than 1048576 bytes",
	} {
		_, err := ParseCredentials([]byte(text))
		assert.ErrorContains(t, err, want, "%.60q", text)
	}
	_, err := ParseCredentials([]byte("- {name: a, role: x, hash: h}\n- {name: b}\n"))
	assert.Equal(t, strings.Count(err.Error(), "line "), 2, "all problems: %v", err)
}

func TestNewToken_IsRandomAndLong(t *testing.T) {
	a, b := NewToken(), NewToken()
	assert.Assert(t, a != b)
	assert.Equal(t, len(a), len("canopy_")+43)
	assert.Assert(t, strings.HasPrefix(a, "canopy_"))
	assert.Equal(t, HashToken("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
}

// The header of any client and a file of any content are answered with an error, or read.
func FuzzCredentials(f *testing.F) {
	f.Add([]byte(entry("shim", "submit", "b", ", rmID: x")), "Bearer b")
	f.Add([]byte("- {name: a, role: read, certificate: c}"), "Basic YTpi")
	f.Add([]byte("- &a [*a]"), "bearer  \x00")
	f.Fuzz(func(t *testing.T, text []byte, header string) {
		c, err := ParseCredentials(text)
		if err != nil {
			assert.Assert(t, c == nil && err.Error() != "")
			return
		}
		assert.Assert(t, c.Len() > 0)
		i, err := New(Options{Credentials: c}).Authorize(Client{Authorization: []string{header}}, Admin)
		if err != nil {
			return
		}
		assert.Assert(t, i.Allows(Admin))
	})
}
