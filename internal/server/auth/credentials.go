package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Bounds of the file of credentials.
const (
	MaxFileBytes = 1 << 20 // bytes of the text
	maxEntries   = 1000    // each is compared with each token
	maxName      = 253     // bytes of a name, as of a DNS name
	maxRMID      = 1024    // bytes of an ID of a resource manager (RMI-7)
)

// Credentials are the identities of a file. They are immutable.
type Credentials struct {
	tokens       []tokenEntry
	certificates map[string]*Identity // by the name of the certificate
}

type tokenEntry struct {
	hash     digest
	identity *Identity
}

// fileEntry is an entry of the file: a token, by its hash, or a certificate, by one of its names.
type fileEntry struct {
	Name        string  `yaml:"name"`
	Role        string  `yaml:"role"`
	Hash        *string `yaml:"hash"`
	Certificate *string `yaml:"certificate"`
	RMID        *string `yaml:"rmID"`
}

// Len returns the number of entries.
func (c *Credentials) Len() int { return len(c.tokens) + len(c.certificates) }

// Entries describes the entries, a line each, sorted.
func (c *Credentials) Entries() (out []string) {
	describe := func(i *Identity, kind string) {
		line := fmt.Sprintf("%s: %s, %s", i.Name, i.rolesText(), kind)
		if i.RMs != nil {
			line += ", rmID " + strings.Join(i.RMs, ", ")
		}
		out = append(out, line)
	}
	for _, t := range c.tokens {
		describe(t.identity, "a token")
	}
	for name, i := range c.certificates {
		describe(i, "the certificate "+name)
	}
	slices.Sort(out)
	return out
}

// ParseCredentials reads a file of credentials (SEC-4): a YAML list. The error has every problem, with its line.
func ParseCredentials(text []byte) (*Credentials, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxFileBytes)
	}
	list, err := entryNodes(text)
	if err != nil {
		return nil, err
	}
	if len(list) > maxEntries {
		return nil, fmt.Errorf("the file has %d entries, at most %d are allowed", len(list), maxEntries)
	}
	c, named := &Credentials{certificates: map[string]*Identity{}}, map[string]*Identity{}
	var wrong []error
	for _, node := range list {
		if err := c.add(node, named); err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", node.Line, err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return c, nil
}

// entryNodes returns the entries of the list in the text.
func entryNodes(text []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file has no entries: canopy token new prints one")
	case err != nil:
		return nil, yamlError(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one YAML document")
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil,
			fmt.Errorf("line %d: the file is no list of entries, such as those that canopy token new prints", list.Line)
	}
	if len(list.Content) == 0 {
		return nil, errors.New("the file has no entries: canopy token new prints one")
	}
	return list.Content, nil
}

// yamlError returns an error of the library in one line, without its name.
func yamlError(err error) error {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")
	return errors.New(strings.TrimPrefix(text, "unmarshal errors:   "))
}

// add adds an entry. named has the identities of the entries before it.
func (c *Credentials) add(node *yaml.Node, named map[string]*Identity) error {
	var e fileEntry
	if node.Kind != yaml.MappingNode {
		return errors.New("an entry has name, role, and hash or certificate")
	}
	if err := checkKeys(node); err != nil {
		return err
	}
	if err := node.Decode(&e); err != nil {
		return yamlError(err)
	}
	i, err := e.identity()
	if err != nil {
		return err
	}
	if former := named[i.Name]; former == nil {
		named[i.Name] = i
	} else if !former.equal(i) { // two hashes of one name are a token that is being replaced
		return fmt.Errorf("%s has another role or rmID than in a former entry", i.Name)
	}
	if e.Certificate != nil {
		if c.certificates[*e.Certificate] != nil {
			return fmt.Errorf("certificate %q is in a former entry too", shortened(*e.Certificate))
		}
		c.certificates[*e.Certificate] = i
		return nil
	}
	hash, err := parseHash(*e.Hash)
	if err != nil {
		return err
	}
	for _, former := range c.tokens {
		if former.hash == hash {
			return fmt.Errorf("the hash of %s is that of a former entry, of %s", i.Name, former.identity.Name)
		}
	}
	c.tokens = append(c.tokens, tokenEntry{hash, i})
	return nil
}

// checkKeys refuses a key that an entry does not have, or has twice, and a value that is no plain text.
func checkKeys(node *yaml.Node) error {
	seen := map[string]bool{}
	for n := 0; n+1 < len(node.Content); n += 2 {
		key := node.Content[n].Value
		switch key {
		case "name", "role", "hash", "certificate", "rmID":
		default:
			return fmt.Errorf("unknown key %q: an entry has name, role, hash or certificate, and rmID", shortened(key))
		}
		if seen[key] {
			return fmt.Errorf("key %q is given twice", key)
		}
		if node.Content[n+1].Kind != yaml.ScalarNode {
			return fmt.Errorf("%s is no plain text", key)
		}
		seen[key] = true
	}
	return nil
}

// identity checks the entry, except its hash.
func (e *fileEntry) identity() (*Identity, error) {
	if err := CheckName("name", e.Name, maxName); err != nil {
		return nil, err
	}
	role, err := ParseRole(e.Role)
	switch {
	case err != nil:
		return nil, err
	case e.Hash != nil && e.Certificate != nil:
		return nil, errors.New("an entry has a hash or a certificate, not both")
	case e.Hash == nil && e.Certificate == nil:
		return nil, errors.New("an entry has the hash of a token, or the name of a certificate")
	case e.Certificate != nil:
		if err := CheckName("certificate", *e.Certificate, maxName); err != nil {
			return nil, err
		}
	}
	i := &Identity{Name: e.Name, Roles: []Role{role}}
	if e.RMID != nil {
		if err := CheckName("rmID", *e.RMID, maxRMID); err != nil {
			return nil, err
		}
		if !i.Allows(Submit) {
			return nil, fmt.Errorf("rmID is for the role submit, not for %s", role)
		}
		i.RMs = []string{*e.RMID}
	}
	return i, nil
}

// CheckName refuses a text that is empty, longer than most bytes, or has characters that cannot be printed. what names
// it in the error.
func CheckName(what, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s is empty", what)
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(text), most)
	case strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Errorf("%s is %q: it has a character that cannot be printed", what, shortened(text))
	}
	return nil
}

// findToken returns the identity of a token; nil: it is unknown. The time does not depend on how much of a hash is
// right (SEC-6).
func (c *Credentials) findToken(token string) (found *Identity) {
	hash := sha256.Sum256([]byte(token))
	for n := range c.tokens {
		if subtle.ConstantTimeCompare(hash[:], c.tokens[n].hash[:]) == 1 {
			found = c.tokens[n].identity
		}
	}
	return found
}

// findCertificate returns the identity of a certificate with these names; nil: no entry has one of them.
func (c *Credentials) findCertificate(names []string) *Identity {
	for _, name := range names {
		if i := c.certificates[name]; i != nil {
			return i
		}
	}
	return nil
}
