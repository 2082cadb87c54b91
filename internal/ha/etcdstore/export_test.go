package etcdstore

// Encode is encode for tests.
func Encode(key string, text []byte) string { return string(encode(key, text)) }
