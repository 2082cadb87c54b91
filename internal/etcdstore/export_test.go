package etcdstore

// Encode is the value of a key, which is without the prefix.
var Encode = encode
