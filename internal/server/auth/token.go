package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// tokenPrefix lets people and scanners of repositories recognise a token.
const tokenPrefix = "canopy_"

// tokenBytes are the random bytes of a token. With 256 random bits, no guess succeeds, so a fast hash without a
// salt protects a token as well as a slow one (ADR 73).
const tokenBytes = 32

// MaxToken is the longest token that is read from a request, in bytes.
const MaxToken = 4096

// hashPrefix names the hash of the file of credentials.
const hashPrefix = "sha256:"

// digest is the hash of a token.
type digest [sha256.Size]byte

// NewToken returns a new token: letters, digits, '-' and '_'.
func NewToken() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // it does not fail: see crypto/rand
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// HashToken returns the hash of a token as the file of credentials has it: sha256: and 64 hexadecimal digits.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// parseHash reads a hash as HashToken writes it.
func parseHash(text string) (d digest, err error) {
	digits, found := strings.CutPrefix(text, hashPrefix)
	if !found {
		if strings.HasPrefix(text, tokenPrefix) {
			return d,
				errors.New("hash is a token: write its hash, which canopy token new prints, and give the token to the client only")
		}
		return d, fmt.Errorf("hash is %q: it begins with %s", shortened(text), hashPrefix)
	}
	sum, err := hex.DecodeString(digits)
	if err != nil || len(sum) != len(d) {
		return d,
			fmt.Errorf("hash is %q: %s is followed by %d hexadecimal digits", shortened(text), hashPrefix,
				hex.EncodedLen(len(d)))
	}
	return digest(sum), nil
}
