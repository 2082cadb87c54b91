package queuesyaml

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

const checksumDigits = 2 * sha256.Size

// checksum is the SHA-256 of text in upper-case hex. A checksum in the text is cut out
// first, so that a document with its own checksum pasted in keeps it (CFG-20).
func checksum(text []byte) string {
	return fmt.Sprintf("%X", sha256.Sum256(withoutChecksum(text)))
}

// withoutChecksum cuts the first "checksum: <64 hex digits>" out of text. Anything else
// after the key is part of the document: if it were cut out, two different documents could
// have the same checksum.
func withoutChecksum(text []byte) []byte {
	key := []byte("checksum: ")
	for from := 0; ; {
		i := bytes.Index(text[from:], key)
		if i < 0 {
			return text
		}
		start := from + i
		from = start + len(key)
		if end := from + checksumDigits; end <= len(text) && isHex(text[from:end]) {
			return bytes.Join([][]byte{text[:start], text[end:]}, nil)
		}
	}
}

func isHex(text []byte) bool {
	return len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0
}
